#!/bin/sh
# outside.sh BUILD-DIR FOLDER LANGUAGE COMPILER...: installs into a scratch folder, then builds and runs
# FOLDER/engine.c and FOLDER/gp.c there with what pkg-config says of their libraries, shared and static. The
# version there must be that of the header and of the library. In TAP.
# shellcheck disable=SC2046  # flags are words
set -e
# shellcheck source=tests/support/tap.sh
. "$(dirname "$0")/../support/tap.sh"
unset LD_LIBRARY_PATH
build=$1 folder=$2 language=$3
shift 3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Without the modules, which have tags of their own.
DESTDIR=$scratch meson install -C "$build" --no-rebuild --quiet --tags devel,runtime
pc=$(find "$scratch" -name cotangent.pc)
libdir=${pc%/pkgconfig/cotangent.pc}
tool=$(find "$scratch" -path '*/bin/ctgp')
export PKG_CONFIG_PATH="${pc%/*}"

cp "$folder/engine.c" "$scratch/cotangent.in"
cp "$folder/gp.c" "$scratch/cotangent-gp.in"
cd "$scratch"
version=$(pkg-config --modversion cotangent)
prefix=$scratch$(pkg-config --variable=prefix cotangent)
# Before 1.0 the SONAME changes with the minor version, then with the major one.
case $version in 0.*) so=so.${version%.*} ;; *) so=so.${version%%.*} ;; esac

# loads FILE SONAME...: of ours and of NLopt, FILE asks the loader for these.
loads() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(lib\(cotangent\|nlopt\).*\)\]/\1/p' | sort >loaded
    shift
    printf '%s\n' "$@" | sort | sed '/^$/d' | cmp - loaded
}
names() { nm -g --defined-only "$@" | awk 'NF == 3 && $2 != "A" { print $3 }' | sort -u; }

for library in cotangent cotangent-gp; do
    "$@" -x "$language" -Wall -Wextra -Werror -DVERSION="\"$version\"" $library.in -x none -o shared \
        $(PKG_CONFIG_SYSROOT_DIR=$scratch pkg-config --cflags --libs $library)
    that "$library, shared" env LD_LIBRARY_PATH="$libdir" ./shared
    case $library in
    cotangent) that 'asks for the engine alone' loads shared libcotangent.$so ;;
    *) that 'asks for both libraries' loads shared libcotangent.$so libcotangent-gp.$so ;;
    esac

    # The static libraries' own dependencies lie outside the scratch folder.
    flags=$(pkg-config --define-variable=prefix="$prefix" --static --cflags --libs $library)
    # shellcheck disable=SC2086
    "$@" -x "$language" -DVERSION="\"$version\"" $library.in -x none -o static $flags
    that "$library, static" ./static
    that 'with no shared one of ours' sh -c '! readelf -d static | grep libcotangent'
    names static >static_names
    case $library in cotangent)
        that 'without NLopt' sh -c '! echo "$1" | grep nlopt' - "$flags"
        that 'and without a model' sh -c '! grep -E "^ct_+(gp|kernel|table)_" static_names'
        ;;
    esac

    # A library exports only what the headers declare; in the static one every name has the prefix.
    names -D "$libdir/lib$library.so" >"$library.exported"
    names "$libdir/lib$library.a" >"$library.all"
    that 'names in the shared library' sh -c "! grep -v '^ct_[^_]' $library.exported"
    that 'names in the static library' sh -c "! grep -v '^ct_' $library.all"
done

# The border: each name is in one library, the engine's has none that a header of the GP declares, and the
# GP's uses public functions of the engine.
that 'no name is in both libraries' sh -c '! comm -12 cotangent.all cotangent-gp.all | grep .'
grep -ohE 'ct_\w+ *\(' "$prefix"/include/cotangent/gp/*.h | tr -d ' (' | sort -u >declared
comm -12 declared cotangent-gp.exported >functions
that 'the GP has its functions' test "$(wc -l <functions)" -gt 100
that 'the engine loads nothing of ours, nor NLopt' loads "$libdir/libcotangent.so" ''
that 'the engine has no function of the GP' sh -c '! comm -12 functions cotangent.all | grep .'
nm -g --undefined-only "$libdir/libcotangent-gp.a" | sed -n 's/.* U \(ct__\)/\1/p' | sort -u >used
that 'the GP uses what the engine makes public' sh -c '! comm -12 used cotangent.all | grep .'

that 'the installed tool finds its libraries beside it' "$tool" --help

plan
