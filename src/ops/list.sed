# Descriptors -> the names of their ops, a row each.
s/^const ct_op ct_op_\([a-z0-9_]*\) = .*/OP(\1, )/p
