# SPDX-License-Identifier: GPL-3.0-or-later
# The particles workload in short, for the sanitizers, too: conversions, runs, overlap, and what is refused.
# processors: 1
# labels: sanitize
. "$(dirname "$0")/lib.sh"
needs jq

options=(--quiet --seed 5 --steps 3 --json out.json "${here[@]}")
particles=("$TUTTI" run particles -n 2 "${options[@]}")
other=posix
! has_backend hdf5 || other=hdf5

expect 0 "${particles[@]}" --dims 1003 --phase both --memory records --file arrays
expect 0 "${particles[@]}" --dims 20:30 --phase both --memory arrays --file records --backend "$other" --read prl \
    --block 3:3
expect 0 "${particles[@]}" --phase both --dims 1000 --mode async --prefetch yes --compute 5ms --memory records \
    --backend "$other" --deviation 100
no_data_left

# A dry run says what is read of each step, not how large a step is.
would_read() { # SIZE OPTION ...
    expect 0 "${particles[@]}" --phase both --steps 2 --dry-run "${@:2}"
    grep -qx "reads  *$1" out || fail "a dry run with ${*:2} does not say that it reads $1"
}
would_read "31.2 KiB" --dims 1000 --read partial --read-count 250
would_read "3.75 KiB" --dims 20:30 --read plane --plane-dimension 1
would_read "2.50 KiB" --dims 20:30 --read plane --plane-dimension 2

usage "append is not possible on posix, because" "${particles[@]}" --phase append --path x
usage "conversion=library is not possible on posix, because" "${particles[@]}" --memory records --conversion library
usage "phase=read is not possible on discard, because" "${particles[@]}" --phase read --path x --backend discard
usage "phase=overwrite is not possible on posix under these layers" "${particles[@]}" --phase overwrite --path x \
    --layers verify
usage "needs particles.path" "${particles[@]}" --phase read
usage "a tenth to a fifth" "${particles[@]}" --phase both --dims 20:30 --read ldc --block 1:3
usage "do not fit a rank's 100 rows" "${particles[@]}" --pattern strided --dims 100 --stride 10 --block 3 --count 11
usage "memory_limit: 1024 bytes are less" "${particles[@]}" --dims 1000 --memory-limit 1k
usage "prefetch needs --overlap async" "${particles[@]}" --phase both --prefetch yes --mode sync
usage "1 to 3 dimensions" "${particles[@]}" --dims 1:2:3:4

has_backend hdf5 || exit 0
usage "hdf5.filter needs hdf5.method=collective" "${particles[@]}" --backend hdf5 --hdf5.filter deflate \
    --hdf5.method independent
# HDF5's own conversion, in the caller and in the background.
expect 0 "${particles[@]}" --backend hdf5 --dims 3001 --phase both --conversion library --memory arrays --file records
expect 0 "${particles[@]}" --backend hdf5 --dims 3001 --phase both --conversion library --memory records --mode async
no_data_left
