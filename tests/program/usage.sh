# SPDX-License-Identifier: GPL-3.0-or-later
# Wrong usage: one line that names the place and the nearest good word, status 2, nothing done.
# processors: 1
# labels: sanitize
. "$(dirname "$0")/lib.sh"

usage "unknown command 'rnu' \(did you mean 'run'" "$TUTTI" rnu
usage "did you mean 'stencil'" "$TUTTI" run stencl
usage "did you mean '(stencil\.)?size'" "$TUTTI" run stencil --siez 100
usage "did you mean 'every'|did you mean 'write.every'" "$TUTTI" run stencil --write evry=5
usage "unknown key 'wirte' \(did you mean 'write'" "$TUTTI" run stencil --wirte every=5
usage "unknown key '-np' \(did you mean '-n'" "$TUTTI" run stencil -np 4
usage "did you mean 'posix'" "$TUTTI" run stencil --backend posx
usage "did you mean 'verify'" "$TUTTI" run stencil --layers verfy
usage "did you mean 'async'" "$TUTTI" run stencil --mode asinc
usage "did you mean 'sine'" "$TUTTI" run stencil --perturbation sin
usage "nosuch" "$TUTTI" explain nosuch
usage "did you mean 'hidden_fraction'" "$TUTTI" explain hidden
usage "not key=value.*tutti help write" "$TUTTI" run stencil --write 20
usage "nosuch" "$TUTTI" list nosuch
usage "nosuch" "$TUTTI" help nosuch

# Whatever an error quotes, it is one line.
usage "unknown command 'a\?b'" "$TUTTI" $'a\nb'
usage "unknown workload 'a\?b'" "$TUTTI" run $'a\nb'
usage "unknown key 'si\?\[31mze'" "$TUTTI" run stencil $'--si\e[31mze' 5

# What cannot be printed is no success.
if [ -c /dev/full ]; then
    status=0
    "$TUTTI" list >/dev/full 2>err || status=$?
    equal $status 1 "status with a full stdout"
    one_line "stdout"
fi

# Numbers that are not understood are refused, never guessed.
for value in 1x -5 '' abc 1.5 99999999999999999999999 0x10 '5 ' 1e3; do
    usage "size" "$TUTTI" run stencil --size "$value"
done
for value in 1x 1.5q -5 '' abc 99999999999999999999g 16777216t; do
    usage "max-bytes|max_bytes" "$TUTTI" run stencil --max-bytes "$value"
done
for value in 5parsec -1s ''; do
    usage "max-time|max_time" "$TUTTI" run stencil --max-time "$value"
done
usage "iterations" "$TUTTI" run stencil --iterations 0
usage "pattern" "$TUTTI" run stencil --write every=5,pattern=1:x
usage "value" "$TUTTI" run stencil --size
usage "ranks" "$TUTTI" run stencil -n 0
usage "(rank|size|grid)" "$TUTTI" run stencil -n 64 --size 16
if has_backend pnetcdf; then # hints by which data would lie where nobody looks
    pnetcdf=("$TUTTI" run stencil --size 16 --iterations 2 --backend pnetcdf)
    usage "pnetcdf.hints: 'nc_burst_buf=enable' would put data into other files" \
        "${pnetcdf[@]}" --pnetcdf.hints nc_var_align_size=512,nc_burst_buf=enable
    PNETCDF_HINTS="nc_var_align_size=512; pnetcdf_subfiling=enable;romio_ds_write=disable" \
        usage "PNETCDF_HINTS: 'pnetcdf_subfiling=enable' would put data into other files" "${pnetcdf[@]}"
    PNETCDF_HINTS="pnetcdf_subfiling=disable;" expect 0 "${pnetcdf[@]}" --pnetcdf.hints nc_burst_buf=disable \
        "${here[@]}" --results there
fi
expect 1 "$TUTTI" run missing.yaml
one_line "missing.yaml.*No such file"

# A result that cannot be written is known before the run.
expect 1 "$TUTTI" run stencil --size 16 --json nosuch/out.json
one_line "nosuch/out.json.*No such file"
expect 1 "$TUTTI" run stencil --size 16 --csv .
one_line "is a directory"

for output in --json --csv; do
    usage "option $output needs a value" "$TUTTI" run stencil --size 16 $output ""
done
usage "only one of --json and --csv can go to stdout" "$TUTTI" run stencil --size 16 --json - --csv -

# A file names line and column.
cat >job.yaml <<YAML
workload: stencil
stencil:
  size: 64
  iteratons: 5
YAML
usage "job.yaml:4:3: .*iteratons.*did you mean '(stencil\.)?iterations'" "$TUTTI" run job.yaml
sed -i 's/iteratons: 5/iterations: 1x/' job.yaml
usage "job.yaml:4:[0-9]+: .*1x" "$TUTTI" run job.yaml
printf 'workload: stencil\nsize: [1\n' >broken.yaml
usage "broken.yaml:[0-9]+:[0-9]+: " "$TUTTI" run broken.yaml

[ -z "$(find . -name '*-*' -path '*runs*')" ] || fail "a refused run left a run directory"
no_data_left

# What begins with a dash is a name where a name belongs; -- ends the options.
mkdir -- -data
for arguments in "run stencil -n 1 --size 16 --iterations 2 --write every=1" "ensemble dash.yaml"; do
    printf '%s\n' 'reference: {workload: stencil, size: 16, iterations: 2, write: {every: 1}, ranks: 1}' \
        'load: {same: reference}' 'others: [0]' 'repeat: 1' >dash.yaml
    # shellcheck disable=SC2086
    expect 0 "$TUTTI" $arguments --results=-results --dir=-data --min-free 0 --json=-answer.json --csv=-rows.csv
    [ -s ./-answer.json ] && [ -s ./-rows.csv ] || fail "no files for $arguments"
    rm ./-answer.json ./-rows.csv
done
for command in runs index; do
    expect 0 "$TUTTI" $command -- -results
done
expect 0 "$TUTTI" show -- "$(find . -path './-results/2*' -prune | cut -c 3-)"
usage "unexpected word '--rebuild' after '-results'" "$TUTTI" index -- -results --rebuild

# A workload without epochs does not pass over a wish for baselines; 0 is what it does anyway.
for workload in arrays bulk "command --words true" metadata pattern "reader --path nowhere" "traffic -n 2"; do
    # shellcheck disable=SC2086
    usage "^tutti: --baseline has no effect on ${workload%% *}, " "$TUTTI" run $workload --baseline 4 --dry-run
done
for baseline in 0 2; do
    expect 0 "$TUTTI" run frames --baseline $baseline --dry-run "${here[@]}"
    expect 0 "$TUTTI" run particles --baseline $baseline --dry-run "${here[@]}"
done
usage "^tutti: baseline 1 makes every epoch a baseline, .*: give 2 or more" "$TUTTI" run stencil --baseline 1 --dry-run
expect 0 "$TUTTI" run metadata --baseline 0 --dry-run "${here[@]}"
