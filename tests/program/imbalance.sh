# SPDX-License-Identifier: GPL-3.0-or-later
# A rate of storage does not hold the computation of a rank that is late: where calls are collective, whoever is early waits
# before them, outside the time that counts as storage's.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq cmake
needs_backend mpiio

# The template, whose second rank computes 0.2 s longer before each of five dumps.
cmake --install "$(dirname "$TUTTI")" --prefix "$work/there" >install.log || { cat install.log; fail "cannot install"; }
sed -e 's/template/late/g' -e '/^#include <string.h>/a #include <unistd.h>' \
    -e 's/^    tt_phase_add(o->engine, TT_COMPUTE, t);/    usleep(o->engine->rank == 1 ? 200000 : 0);\n&/' \
    "$SOURCE/examples/modules/workload.c" >late.c
grep -q usleep late.c || fail "the template computes elsewhere"
# shellcheck disable=SC2086
"$MPICC" $MODULE_FLAGS -shared -fPIC -D_GNU_SOURCE -I there/include/tutti -o workload_late.so late.c || fail "cannot build"
export TUTTI_MODULE_PATH=$work

# Seconds of a rank in a phase, within the run.
of_rank() { # RANK PHASE
    jq --argjson rank "$1" --arg phase "$2_ns" '.samples | (.columns | index($phase)) as $p |
        [.ranks[$rank].rows[] | select(.[-1] == 0) | .[$p]] | add / 1e9' out.json
}

# The early rank waited for a second. That is in `submit`, `sync` or `wait`, and not in the time of the calls: neither of
# collective writes, nor of a sync, for which ranks wait whichever way they write.
for mode in sync sync+imm async+bg; do
    for method in collective independent; do
        expect 0 "$TUTTI" run late -n 2 --points 1000 --iterations 5 --write every=1 --backend mpiio --mpiio.method $method \
            --mode $mode --baseline 0 "${here[@]}" --json out.json
        holds '$late > 0.9' late="$(jq -n "$(of_rank 1 compute) - $(of_rank 0 compute)")"
        holds '$rate > $bytes / 0.5' rate="$(metric write_rate)" bytes="$(metric bytes_written)"
        for rank in 0 1; do
            holds '$io < 0.5' io="$(jq -n "$(of_rank $rank io_write) + $(of_rank $rank io_sync)")"
        done
    done
done
no_data_left
