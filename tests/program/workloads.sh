# SPDX-License-Identifier: GPL-3.0-or-later
# Every workload that stores something, small, on a plain file and through a library: what it reads is what it wrote.
# processors: 1
# labels: sanitize
. "$(dirname "$0")/lib.sh"

play() { # WORKLOAD OPTIONS...
    local backend
    for backend in posix hdf5; do
        has_backend $backend || continue
        expect 0 "$TUTTI" run "$@" -n 2 --quiet "${here[@]}" --backend $backend --layers verify
        no_data_left
    done
}
play bulk --segments 4 --check-read yes
play particles --dims 1000 --steps 2 --phase both
play particles --dims 1000 --steps 2 --phase both --memory records --mode async+bg
play frames --edge 12 --frames 3 --read yes
play frames --edge 12 --frames 3 --read yes --element vector --convert yes --decomposition 3d --style file
play arrays --arrays 4 --steps 2 --rows 8 --columns 8 --process-rows 2
expect 0 "$TUTTI" run metadata -n 2 --quiet "${here[@]}" --items 100 --write 100 --read 100 --shift 1
no_data_left
expect 0 "$TUTTI" run reader -n 2 --quiet "${here[@]}" --files 9 --size 1k --size-max 300k --transfer 10000 \
    --concurrency 4 --passes 2
no_data_left
