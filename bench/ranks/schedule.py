"""A model of the schedule of src/gp/factor/grid_sweep.c: seconds and bytes of a likelihood over a grid of
processes.

Step k of the sweep, in tiles of b rows, on P x Q processes: the owner factorises the pivots' tile; the
processes of grid column k, and of grid row k, solve for their tiles of the panel; the panel is broadcast in
two phases; every process updates its own tiles. A part of a step ends when its slowest process has ended. If
there is room for a second panel, the next panel's first phase overlaps with the update.

A broadcast to s processes takes ceil(log2 s) latencies and its bytes over the bandwidth. A process receives
one message at a time, and may send at the same time.
"""
import collections
import math

DOUBLE = 8

# gflops: of one process, in products of depth b. solve, pivot: the shares of it that a triangular solve of a
# panel and the factorisation of one tile reach. latency: seconds; bandwidth: bytes per second. exchange: only
# the part that the update does not hide.
Machine = collections.namedtuple("Machine", "gflops solve pivot latency bandwidth")
Time = collections.namedtuple("Time", "pivots panel exchange update")


def grid_of(processes):
    """(rows, cols): the most square grid with rows <= cols; as in comm/module.c."""
    rows = max(r for r in range(1, math.isqrt(processes) + 1) if processes % r == 0)
    return rows, processes // rows


def width_of(n, processes):
    """Rows of a tile; as in grid.c."""
    P, Q = grid_of(processes)
    most, least = n // (10 + 20 * (Q + (P if P > 1 else 0))), 24 if n < 1500 else 48
    return min(max(most // 24 * 24, least), 240)


def looks_ahead(n, processes):
    """Whether there is room for a second panel; as in grid.c."""
    return n // 30 > 2 * width_of(n, processes) * sum(grid_of(processes))


def before(i, first, every):
    """The number of first, first + every, ... that are less than i."""
    return (i - first + every - 1) // every if i > first else 0


def node_bytes(n, d, processes):
    """The most bytes that a process holds during a fit; as ct__gp_bytes in memory.c."""
    P, Q = grid_of(processes)
    b = width_of(n, processes)
    tiles = -(-n // b)
    most = 0
    for q in range(Q):
        columns = range(q, tiles, Q)
        for p in range(P):
            own = len(columns) * before(tiles, p, P) - sum(before(k, p, P) for k in columns)
            panel = before(tiles, p, P) + (before(tiles, q, Q) if P > 1 else 0)
            most = max(most, own + (1 + looks_ahead(n, processes)) * (panel + 2))
    return DOUBLE * (most * b * b + n * (2 * d + 64)) + 2**20


def model_bytes(n, processes):
    """What a process receives at most: a panel of n numbers, along rows and along columns, in each step."""
    P, Q = grid_of(processes)
    return DOUBLE * n * n * (1 / P + 1 / Q)


class Sweep:
    def __init__(self, n, processes, inverse, machine):
        self.n, self.inverse, self.machine = n, inverse, machine
        self.P, self.Q = grid_of(processes)
        self.b, self.ahead = width_of(n, processes), looks_ahead(n, processes)
        self.tiles = -(-n // self.b)
        # The tile rows i with i = p mod P and i = q mod Q are `meeting[p, q]` plus multiples of `period`.
        self.period = math.lcm(self.P, self.Q)
        self.meeting = {(i % self.P, i % self.Q): i for i in range(self.period)}
        self.places = [(p, q) for p in range(self.P) for q in range(self.Q)]

    def broadcast(self, size, tiles):
        """Seconds of one message of this many tiles."""
        m = self.machine
        return math.ceil(math.log2(size)) * m.latency + DOUBLE * tiles * self.b**2 / m.bandwidth

    def not_mine(self, i, p, q, count):
        """Of `count` tile rows before i, those that are of grid row p (or column q) but not at (p, q)."""
        return count - (before(i, self.meeting[p, q], self.period) if (p, q) in self.meeting else 0)

    def exchange(self, k):
        """(first, second): seconds of the two phases of step k."""
        P, Q, T, one = self.P, self.Q, self.tiles, 1
        first = second = 0
        row, column = (self.broadcast(size, one) if size > 1 else 0 for size in (Q, P))
        for p, q in self.places:
            below = before(T, p, P) - before(k + 1, p, P)
            mine = self.broadcast(Q, below) if Q > 1 and q != k % Q and below else 0
            left = before(k, q, Q)
            mine += self.broadcast(P, left) if self.inverse and P > 1 and p != k % P and left else 0
            first = max(first, mine)
            mine = self.not_mine(k, p, q, before(k, p, P)) * row if self.inverse and Q > 1 else 0
            if P > 1:
                mine += (self.not_mine(T, p, q, before(T, q, Q))
                         - self.not_mine(k + 1, p, q, before(k + 1, q, Q))) * column
            second = max(second, mine)
        return first, second

    def most_tiles(self):
        """most[m]: tiles of the lower triangle of m x m tiles, of the process that has most."""
        counts, most = dict.fromkeys(self.places, 0), [0]
        for i in range(self.tiles):
            for q in range(self.Q):
                counts[i % self.P, q] += before(i + 1, q, self.Q)
            most.append(max(counts.values()))
        return most

    def time(self):
        """Seconds, by part."""
        m, b, T, P, Q = self.machine, self.b, self.tiles, self.P, self.Q
        most, cube = self.most_tiles(), b**3 / (m.gflops * 1e9)
        pivots = panel = exchange = update = 0
        for k in range(T):
            pivots += cube / 3 / m.pivot
            if P * Q > 1:
                pivots += self.broadcast(P * Q, 1)
            below, left = -(-(T - k - 1) // P), -(-k // Q)
            panel += (2 * (below + left) if self.inverse else below) * cube / m.solve
            panel += 2 / 3 * cube / m.pivot if self.inverse else 0
            first, second = self.exchange(k)
            tiles = most[T] if self.inverse else most[T - k - 1]
            # Before the next panel the tiles of its pivots are updated, and behind its back the others.
            soon = min(tiles, below + left if self.inverse else below)
            exchange += second + max(0, first - (2 * cube * (tiles - soon) if self.ahead and k else 0))
            update += 2 * cube * tiles
        return Time(pivots, panel, exchange, update)

    def communication(self):
        """Seconds of all broadcasts, hidden ones too: those of the sweep, and of one vector before it, with
        the inverse of another one after it."""
        m, everyone = self.machine, self.P * self.Q
        vector = math.ceil(math.log2(everyone)) * m.latency + DOUBLE * self.n / m.bandwidth
        steps = sum(self.broadcast(everyone, 1) + sum(self.exchange(k)) for k in range(self.tiles))
        return steps + (1 + self.inverse) * vector
