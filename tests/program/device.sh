# SPDX-License-Identifier: GPL-3.0-or-later
# Fields that live on a device: files are those of the host, bit by bit, in every mode and however ranks share the grid; data
# that leaves and enters it is counted; what fails is one line. DEVICE=cuda (make check-gpu) asks a real one; otherwise it is the
# tests' own, whose memory nobody else can reach and which does nothing before somebody waits for it.
# processors: 1
# timeout: 600
# labels: sanitize
. "$(dirname "$0")/lib.sh"
needs jq
device=${DEVICE:-shadow}
stencil=("$TUTTI" run stencil "${here[@]}" --iterations 8 --write every=4 --json out.json)
plain() { # NAME OPTIONS...
    local name=$1
    shift
    rm -f "$name"
    expect 0 "${stencil[@]}" --keep --write.path "$name" "$@"
    mv "$data/$name" .
}
if ! "${stencil[@]}" --size 64 --device "$device" >out 2>err && grep -q 'cannot be opened\|sees no device\|not NVRTC' err; then
    skip "$(cat err)"
fi
value() { jq ".metrics.$1.value" out.json; }
turn=0
is_due() { [ -n "${FAULTS:-}" ] || [ $((turn++ % 3)) = 0 ]; } # sanitizers are slow: a third of the cases

# Every kernel; rows that end anywhere; thin boxes around blocks.
for problem in '--size 61x130 --residual 3' '--size 40x67 --shape box --perturbation sine' '--size 20x31x18 --perturbation sine --work 3 --residual 1' \
    '--size 33x9x40 --shape box --fields 2 --compute 2' '--size 9x21x77' '--size 100x33 --perturbation sine' \
    '--size 19x19x19 --shape box --perturbation sine' '--size 300x40 --shape box'; do
    plain host -n 1 $problem
    residual=$(value residual)
    turn=$((turn + 1)) # another of the three each time
    for how in '-n 1' '-n 3 --mode async' '-n 4 --decomposition blocks --halo overlap --mode async+bg'; do
        is_due || continue
        plain there $how $problem --device "$device"
        cmp host there || fail "the device's fields differ from the host's: $problem $how"
        equal "$residual" "$(value residual)" "residual of $problem $how"
    done
done

# Modes, backends and layers: every file is the host's.
plain host -n 1 --size 64x70
plain restarted -n 1 --size 64x70 --read every=5 --read.restart
for how in '--mode sync+imm' '--mode sync' '--mode async' '--mode async+bg --inflight 2' '--mode auto' \
    '--mode async+bg --device.snapshot no' '--mode async+bg --device.staging pageable' '--mode async --layers verify' \
    '--mode sync --backend mpiio --layers verify' '--mode async+bg --backend uring' '--mode async+bg --backend mmap' \
    '--read every=5 --mode sync'; do
    backend=$(sed -n 's/.*--backend \([a-z0-9]*\).*/\1/p' <<<"$how")
    has_backend "${backend:-posix}" || continue
    is_due || continue
    plain there -n 2 --size 64x70 --device "$device" $how
    cmp host there || fail "the file differs from the host's: $how"
    holds '$stage > 0 and $rate > 0 and $kernel > 0' stage="$(jq .phases.io_stage.max out.json)" rate="$(value staging_rate)" \
        kernel="$(value kernel_time)"
done
# Nonblocking calls would make the computation wait for the copy: the helper does, in the order of dumps.
for backend in uring mpiio; do
    has_backend $backend || continue
    expect 0 "${stencil[@]}" -n 2 --size 64x70 --device "$device" --mode async --backend $backend
    equal helper "$(jq -r .overlap.executor out.json)" "who writes dumps of device data"
done
# Files that are no plain array: the layer verify, or else the run itself, reads them back.
for how in '--mode async --layers verify,log' '--write.series file --mode async+bg' '--write.files process --mode async' \
    '--mode async+bg --backend hdf5 --layers verify' '--mode async --backend netcdf --layers verify'; do
    backend=$(sed -n 's/.*--backend \([a-z0-9]*\).*/\1/p' <<<"$how")
    has_backend "${backend:-posix}" || continue
    expect 0 "${stencil[@]}" -n 2 --size 64x70 --device "$device" $how
done
equal "$(jq -r '.plan.parameters.device' out.json)" "$device" "the device in the plan"
plain there -n 2 --size 64x70 --read every=5 --read.restart --device "$device" --mode async+bg
cmp restarted there || fail "a restart from what was read differs"
expect 0 "${stencil[@]}" -n 2 --size 64x70 --device "$device" --compute 20ms --iterations 4 --write every=2
no_data_left
# Hidden staging and storage are hidden_fraction, by their parts of the I/O; the host has none of them.
expect 0 "${stencil[@]}" -n 2 --size 64x70 --device "$device" --iterations 24 --write every=4 --mode async+bg
holds '$staging >= 0 and $staging <= 1 and ([$staging, $storage] | min <= $all + 1e-9) and ([$staging, $storage] | max >= $all - 1e-9)' \
    staging="$(value hidden_staging)" storage="$(value hidden_storage)" all="$(value hidden_fraction)"
expect 0 "${stencil[@]}" -n 2 --size 64x70 --iterations 24 --write every=4 --mode async+bg
equal "null null" "$(value hidden_staging) $(value hidden_storage)" "staging without a device"

# The device's clock sees no more than the host's around it; and where kernels and copies are long, not much less.
size='900x700' passes=2
[ "$device" = shadow ] || size=8192 passes=50
expect 0 "${stencil[@]}" -n 1 --size $size --compute $passes --device "$device" --mode sync
for what in "$(value staging_time) copy" "$(jq '.metrics.kernel_time.value * 8' out.json) compute"; do
    holds '$device > 0 and $device <= 1.001 * $host + 2e-6 and ($shadow or $device >= 0.95 * $host)' device="${what% *}" \
        host="$(jq ".phases.${what#* }.max" out.json)" shadow="$([ "$device" = shadow ] && echo true || echo false)"
done

# How busy and how full the device is, is seen while it works, and not only when it has ended.
if [ "$device" = shadow ]; then
    expect 0 env SHADOW_USAGE=123456789 "${stencil[@]}" -n 2 --size 64x70 --device shadow --iterations 20 --compute 20ms --mode async+bg
    holds '$busy > 0 and $busy < 1 and $memory == 123456789' busy="$(value device_utilisation)" memory="$(value device_memory)"
fi

# overlap=auto and the model know staging apart from storage; the model does not join runs of different devices.
expect 0 "${stencil[@]}" -n 2 --size 128 --iterations 40 --write every=1 --mode auto --device "$device"
jq -e '.overlap.auto[0] | .sync + .async == 40 and (.decisions | length > 0) and ([.decisions[] | .staging > 0 and .io > 0] | all)' out.json >/dev/null ||
    fail "staging and storage of auto: $(jq -c .overlap.auto out.json)"
model=("$TUTTI" run stencil -n 2 --dir "$data" --results "$work/history" --min-free 0 --iterations 8 --write every=2 --quiet --mode sync+imm)
for size in 64 128 192; do expect 0 "${model[@]}" --size $size --device "$device"; done
expect 0 "$TUTTI" model predict "$work/history" --ranks 2 --size 100k --compute 1ms --json model.json
jq -e '.fits.staging[0].runs == 3 and (.predicted | .staging.value > 0 and .staging.value < .io.value
    and (.staging.value * .staging_rate.value / 102400 - 1 | fabs) < 1e-9)' model.json >/dev/null || fail "staging in the model: $(cat model.json)"
expect 0 "${model[@]}" --size 128
expect 1 "$TUTTI" model fit "$work/history"
one_line "the runs are of several devices .*choose by device="
no_data_left

# Transfers from and to the device, made and checked there: what is written is what the host writes, and one wrong byte is found.
bulk=("$TUTTI" run bulk "${here[@]}" --transfer 24k --block 240k --signature 77 --keep --json out.json)
for kind in '--data random --compressible 0.3 --duplicate 0.4' '--data timestamp' '--data offset' '--data scatter'; do
    rm -f "$data"/*.bulk
    expect 0 "${bulk[@]}" -n 2 $kind --paths host.bulk
    for how in '' '--depth 3' '--depth 3 --backend uring' '--depth 3 --mode async+bg' '--device.staging pageable' \
        '--backend mpiio --mpiio.method collective' '--layers verify'; do
        backend=$(sed -n 's/.*--backend \([a-z0-9]*\).*/\1/p' <<<"$how")
        has_backend "${backend:-posix}" && is_due || continue
        rm -f "$data/there.bulk"
        expect 0 "${bulk[@]}" -n 2 $kind --paths there.bulk --device "$device" $how --check-write --check-read
        cmp "$data/host.bulk" "$data/there.bulk" || fail "the device's transfers differ from the host's: $kind $how"
        holds '$stage > 0 and ($rate * $time | round) == $written + $read' stage="$(jq .phases.io_stage.max out.json)" rate="$(value staging_rate)" \
            time="$(value staging_time)" written="$(value bytes_written)" read="$(value bytes_read)"
    done
    printf X | dd of="$data/there.bulk" bs=1 seek=100003 conv=notrunc status=none
    expect 1 "${bulk[@]}" -n 2 $kind --paths there.bulk --write no --check-read --device "$device"
    one_line "at offset 100003: what was read is not what was written"
done
rm -f "$data"/*.bulk

# Patterns are the host's, wherever elements lie and whatever is selected: each side reads what the other has written. What is wrong is
# found, in the host's words. (The conformance suite has more of them.)
pattern=("$TUTTI" run pattern "${here[@]}" --json out.json --path some.pattern -n 2 --element 'x:f64,id:i64,tag:char*5,s:f32,n:i32')
for how in '--selection runs --memory scattered --blocks 3 --order shuffled' '--selection strided --memory gaps --dims 12:9:32 --shift yes'; do
    for sides in "$device host" "host $device"; do
        expect 0 "${pattern[@]}" $how --reopen yes --phase write --keep --device "${sides% *}"
        expect 0 "${pattern[@]}" $how --phase read --device "${sides#* }"
    done
    head -c 3000 /dev/zero | tr '\0' Z | dd of="$data/some.pattern" bs=1 seek=20000 conv=notrunc status=none
    expect 1 "${pattern[@]}" $how --phase read
    said=$(grep -o 'variable .* found [0-9a-fx]*' err)
    expect 1 "${pattern[@]}" $how --phase read --device "$device"
    one_line "$said"
    rm -f "$data/some.pattern"
done

# Particles made, repacked, read back and checked on the device, in every layout and selection: files are the host's, and one wrong
# value is found with its place.
particles=("$TUTTI" run particles "${here[@]}" -n 2 --steps 3 --keep --baseline 0 --json out.json)
for how in '--dims 3000' '--dims 3000 --memory records --mode async+bg' '--dims 3000 --file records --mode async --compute 20ms' \
    '--dims 3000 --deviation 300 --memory records --file records --backend mpiio' \
    '--dims 3000 --pattern strided --stride 7 --block 3 --count 300 --device.snapshot no --mode async'; do
    rm -f "$data"/*.particles
    expect 0 "${particles[@]}" ${how/--device.snapshot no/} --path host.particles
    expect 0 "${particles[@]}" $how --path there.particles --device "$device"
    cmp "$data/host.particles" "$data/there.particles" || fail "the device's particles differ from the host's: $how"
    equal "$(value bytes_written)" "$(value staged)" "bytes that left the device: $how"
done
expect 0 "${particles[@]}" --dims 3000 --phase both --compute 20ms --path there.particles --device "$device"
holds '$kernel > 0' kernel="$(value kernel_time)"
printf X | dd of="$data/there.particles" bs=1 seek=$(((8 * 6000 + 2 * 6000 + 4320) * 4 + 1)) conv=notrunc status=none
for layout in arrays records; do
    expect 1 "${particles[@]}" --dims 3000 --phase read --path there.particles --memory "$layout" --device "$device"
    one_line "rank 1: step 1, particle 4320: z is not what was written"
done
rm -f "$data"/*.particles
particles=("$TUTTI" run particles "${here[@]}" -n 2 --steps 3 --phase both --baseline 0 --json out.json --device "$device")
for how in '--dims 3000 --read partial --read-count 777 --memory records' '--dims 20:10:7 --read plane --plane-dimension 2 --plane-index 3' \
    '--dims 3000 --pattern strided --read strided --stride 7 --block 3 --count 300 --file records --prefetch --mode async' \
    '--dims 40:30 --read prl --block 8:6 --mode async --prefetch --memory records' '--dims 40:30 --read cs --block 4:5 --stride 6:5' \
    '--dims 3000 --backend hdf5 --memory records --conversion library --prefetch --mode async+bg' '--dims 3000 --backend netcdf --file records' \
    '--dims 3000 --backend hdf5 --file records --conversion library --files process' '--dims 3000 --layers verify,log'; do
    backend=$(sed -n 's/.*--backend \([a-z0-9]*\).*/\1/p' <<<"$how")
    has_backend "${backend:-posix}" || continue
    expect 0 "${particles[@]}" $how
    equal "$(jq '.metrics.bytes_written.value + .metrics.bytes_read.value' out.json)" "$(value staged)" "bytes that left and entered the device: $how"
done
# What a layer may change is compared within its bound.
if "$TUTTI" info --build | grep -qw zfp; then
    expect 0 "${particles[@]}" --dims 3000 --layers compress --compress.codec zfp --compress.bound 1e-3
    expect 0 "$TUTTI" run frames "${here[@]}" -n 2 --edge 8 --frames 2 --read yes --device "$device" --layers compress --compress.codec zfp --compress.bound 1e-3
fi
no_data_left

# Frames made, converted and checked on the device, between texts of rank 0's that stay on the host: files are the host's, and one
# wrong value is found in the host's words.
frames=("$TUTTI" run frames "${here[@]}" -n 2 --frames 3 --keep --baseline 0 --json out.json)
for how in '--dims 5:7:9' '--edge 12 --element vector --decomposition 3d --convert --mode async+bg' '--dims 3:5:7 --style file --read yes --device.staging pageable' \
    '--dims 4:6:3 --element block --style file+open --convert --timed-convert --compute 20ms --mode async --read yes' \
    '--dims 5:7:9 --header 0 --metadata 0 --decomposition 3d --backend mpiio --mpiio.method collective --read yes' \
    '--dims 9:8:7 --mode async+bg --inflight 2 --device.snapshot no --read yes'; do
    rm -f "$data"/*.frames*
    expect 0 "${frames[@]}" $(sed 's/--device[^ ]* [^ ]*//; s/--read yes//' <<<"$how") --path host.frames
    expect 0 "${frames[@]}" $how --path there.frames --device "$device"
    for file in "$data"/host.frames*; do
        cmp "$file" "${file/host/there}" || fail "the device's frames differ from the host's: $how"
    done
    moved=$(jq '.metrics.bytes_written.value + .metrics.bytes_read.value' out.json)
    holds '$kernel > 0 and $staged > 0 and $staged < $moved + $equal' kernel="$(value kernel_time)" staged="$(value staged)" moved="$moved" equal=0$(
        [[ $how != *--metadata\ 0* ]] || echo 1)
done
rm -f "$data"/*.frames*
expect 0 "${frames[@]}" --dims 5:7:9 --path there.frames --device "$device"
printf X | dd of="$data/there.frames" bs=1 seek=$((256 + 64 + (315 + 100) * 4)) conv=notrunc status=none
for where in host "$device"; do
    expect 1 "${frames[@]}" --dims 5:7:9 --path there.frames --write no --read yes --device "$where"
    one_line "rank 1: frame 1: value 0 of element 415 is not what was written"
done
rm -f "$data"/*.frames*
for how in '--backend hdf5 --mode async+bg' '--backend netcdf --element vector --dims 3:4:5' '--layers verify,log --mode async'; do
    backend=$(sed -n 's/.*--backend \([a-z0-9]*\).*/\1/p' <<<"$how")
    has_backend "${backend:-posix}" || continue
    expect 0 "$TUTTI" run frames "${here[@]}" -n 2 --frames 3 --edge 6 --read yes --device "$device" $how
done
no_data_left

# Checkpoints of a state that the device makes, and restores, by as many ranks or others: files are the host's, each side restores the
# other's, and one wrong byte is found in the host's words.
parameters=$((2 * 500 * 30 + 30 + 2 * (2 * 30 + 4 * 30 * 30 + 3 * 30 * 70))) # no tensor is a whole number of words on three ranks
state='checkpoint --seed 3 --width 30 --ffn 70 --depth 2 --vocabulary 500 --checkpoints 2 --every 2 --compute 1'
checkpoint=("$TUTTI" run $state "${here[@]}" --json out.json)
for how in '-n 3' '-n 2 --mode async --sharding parallel --pipeline 2 --device.snapshot no' \
    '-n 3 --mode async+bg --compute 50ms --device.staging pageable'; do
    expect 0 "${checkpoint[@]}" $(sed 's/--device[^ ]* [^ ]*//; s/--compute [^ ]*//' <<<"$how") --keep --path host --phase save
    expect 0 "${checkpoint[@]}" $how --keep --path there --device "$device"
    equal "$(find "$data" -name 'there.*' | wc -l)" "$((${how:3:1} * 4))" "files of two checkpoints"
    for file in "$data"/host.*; do
        cmp "$file" "${file/host./there.}" || fail "the device's checkpoint differs from the host's: $how"
    done
    equal "$(value staged)" $((3 * 14 * parameters)) "bytes that left the device, and came back: $how"
    holds '$kernel > 0 and $stage > 0' kernel="$(value kernel_time)" stage="$(jq .phases.io_stage.max out.json)"
    [[ $how == *pageable* ]] || rm "$data"/host.* "$data"/there.*
done
expect 0 "${checkpoint[@]}" -n 1 --phase restore --saved-by 3 --path host --device "$device"
expect 0 "${checkpoint[@]}" -n 4 --phase restore --saved-by 3 --path host --device "$device" --device.staging pageable
expect 0 "${checkpoint[@]}" -n 1 --phase restore --saved-by 3 --path there
for where in 4096 5003 30001; do # a stamp, the middle of a word, near the end
    cp "$data/there.000002.model.0001" right
    printf X | dd of="$data/there.000002.model.0001" bs=1 seek=$where conv=notrunc status=none
    expect 1 "${checkpoint[@]}" -n 2 --phase restore --saved-by 3 --path there
    said=$(grep -o 'checkpoint 2: byte .*' err)
    expect 1 "${checkpoint[@]}" -n 2 --phase restore --saved-by 3 --path there --device "$device"
    one_line "${said%% (more*}"
    mv right "$data/there.000002.model.0001"
done
rm "$data"/host.* "$data"/there.*
for how in '--backend hdf5 --mode async+bg' '--layers verify,log'; do
    backend=$(sed -n 's/.*--backend \([a-z0-9]*\).*/\1/p' <<<"$how")
    has_backend "${backend:-posix}" || continue
    expect 0 "${checkpoint[@]}" -n 3 --restore-ranks 2 --device "$device" $how
done
no_data_left

# Traces: kernels and staging have tracks of their own, whose spans are what the metrics count, one after the other.
for how in '--halo overlap --mode async+bg --inflight 2' '--mode sync --read every=4' '--mode async+bg --device.snapshot no'; do
    rm -rf "${runs:?}"
    expect 0 "${stencil[@]}" -n 2 --size 64x70 --write every=2 --baseline 0 --device "$device" --trace yes $how
    expect 0 "$TUTTI" export "$runs" --trace trace.json
    jq -c '. as $all | [.traceEvents[] | select(.cat == "device")] | group_by([.pid, .tid])[] | sort_by(.ts) | . as $spans | .[0] as $first | {
        pid: $first.pid, name: $first.name, n: length, seconds: (map(.dur) | add / 1e6),
        track: [$all.traceEvents[] | select(.name == "thread_name" and .pid == $first.pid and .tid == $first.tid).args.name][0],
        apart: [range(1; length) | $spans[.].ts + 0.002 >= $spans[. - 1].ts + $spans[. - 1].dur] | all}' trace.json >tracks
    equal '["compute","kernels",true] ["compute","kernels",true] ["io_stage","staging",true] ["io_stage","staging",true]' \
        "$(jq -c '[.name, .track, .apart]' tracks | sort | xargs -d '\n')" "tracks of the device ($how)"
    dumps=4 sweeps=8
    [[ $how != *read* ]] || dumps=6
    [[ $how != *overlap* ]] || sweeps=16
    equal "$sweeps $sweeps $dumps $dumps" "$(jq -s -r 'sort_by(.name)[].n' tracks | xargs)" "spans of the device ($how)"
    holds '$spans <= $time * 1.001 and $spans > 0' time="$(value staging_time)" \
        spans="$(jq -s 'map(select(.name == "io_stage").seconds) | add' tracks)"
done
# Steps of other workloads are spans, too; their rehearsal is not.
rm -rf "${runs:?}"
expect 0 "${checkpoint[@]}" -n 2 --mode async+bg --device "$device" --trace yes
expect 0 "$TUTTI" export "$runs" --trace trace.json
jq -c '[.traceEvents[] | select(.cat == "device" and .name == "compute")] | group_by(.pid)[] | [length, (map(.dur) | add / 1e6)]' trace.json >tracks
equal "6 6" "$(jq -s -r 'map(.[0]) | join(" ")' tracks)" "steps of training on the device"
holds '$spans <= 6.01 * $time and $spans > 0' time="$(value kernel_time)" spans="$(jq -s 'map(.[1]) | max' tracks)"

# What makes no sense, or is not there.
expect 2 "$TUTTI" run stencil "${here[@]}" --device cdua
one_line "unknown device 'cdua'"
expect 2 "$TUTTI" run metadata "${here[@]}" --device "$device"
one_line "--device: workload [a-z]* keeps its data in the host's memory; .* of:.* stencil"
expect 1 "${stencil[@]}" --size 64 --device "$device" --device.staging gds
one_line "GPUDirect Storage"
expect 1 "${stencil[@]}" --size 64 --device "$device" --device.map 977
one_line "device.map names device 977, but the last one of this node is"
expect 2 "${stencil[@]}" --size 64 --device.map 0
one_line "'device.map' is for data in a device's memory: add --device"
expect 2 "${stencil[@]}" --size 64 --device.stagin pinned
one_line "unknown key 'device.stagin' .did you mean 'device.staging'"
expect 2 "${stencil[@]}" --size 64 --device ""
one_line "the device is empty: name one, such as cuda, or leave --device out"
expect 2 "${stencil[@]}" --size 64 --device "$device" --threads 2
one_line "stencil.threads: device $device computes, and not the host's threads; leave it out"
expect 0 "${stencil[@]}" --size 64 --device "$device" --device.map 977 --dry-run
grep -q "^not here    device.map names device 977, but the last one of this node is" out || fail "the map of a dry run: $(cat out)"
expect 0 "$TUTTI" run stencil "${here[@]}" --size 60000 --iterations 2 --device "$device" --dry-run
grep -qx "memory      64.0 MiB per rank at most" out || fail "memory without dumps: $(cat out)"
[ "$device" = shadow ] || exit 0

# Failures of the device: no memory, a copy that fails in the middle on one rank.
expect 1 env SHADOW_MEMORY=40000 "${stencil[@]}" -n 2 --size 64x70 --device shadow
one_line "has no .* bytes left"
# A copy that fails on one rank: the others wait for its halo, or in a collective call of the library.
for how in '12 --mode async+bg' '14 --mode async+bg --fields 2' '16 --backend mpiio' '18 --halo overlap --mode async'; do
    expect 1 env SHADOW_FAIL="${how%% *}" SHADOW_RANK=1 "$TUTTI" run stencil "${here[@]}" -n 2 --size 64x70 --iterations 8 \
        --write every=1 --device shadow --patience 2 ${how#* }
    grep -q "rank 1: device 0 (shadow): this copy was told to fail" err || fail "a failed copy: $(cat err)"
    ! grep -q "signal" err || fail "a rank crashed: $(cat err)"
done
# The same of single transfers, however they are executed, of lists of runs and of particles. Nobody waits for the rank until
# its time is over.
for how in 'bulk --backend uring --depth 3 --check-read' 'bulk --depth 3' 'bulk --mode async+bg --depth 3' 'bulk --backend mpiio --mpiio.method collective' \
    'pattern --memory scattered' 'particles --dims 3000 --steps 3 --phase both --baseline 0 --memory records'; do
    backend=$(sed -n 's/.*--backend \([a-z0-9]*\).*/\1/p' <<<"$how")
    has_backend "${backend:-posix}" || continue
    [[ $how != bulk* ]] || how+=' --transfer 24k --block 240k'
    expect 1 env SHADOW_FAIL=5 SHADOW_RANK=1 timeout 90 "$TUTTI" run $how "${here[@]}" -n 2 --device shadow --patience 200
    one_line "rank 1: device 0 .shadow.: this copy was told to fail"
done
# The same of other workloads, also of a kernel: nobody touches the device's memory instead.
for how in 'FAIL=5 frames --edge 8 --mode async+bg' 'LAUNCH=4 frames --edge 8 --convert' 'LAUNCH=12 frames --edge 8 --frames 3 --read yes' \
    'FAIL=90 '"$state --mode async+bg" 'LAUNCH=200 '"$state" 'FAIL=8 particles --dims 3000' 'LAUNCH=5 particles --dims 3000'; do
    expect 1 env "SHADOW_${how%% *}" SHADOW_RANK=1 "$TUTTI" run ${how#* } "${here[@]}" -n 2 --device shadow --patience 2
    one_line "rank 1: device 0 .shadow.: (this copy|kernel [a-z_]*) was told to fail"
done
expect 1 env SHADOW_MEMORY=40000 "$TUTTI" run frames --edge 20 "${here[@]}" -n 2 --device shadow
one_line "has no .* bytes left"
no_data_left
# Kernels and memory are there before the measured time; those of a file that is opened in it do not count.
for how in 'stencil --size 64x70 --iterations 8 --write every=2 --halo overlap --mode async+bg --inflight 2 --residual 3' \
    'stencil --size 64x70 --iterations 8 --write every=2 --read every=3 --mode sync' 'stencil --size 64x70 --iterations 8 --write every=2 --read every=5 --read.restart' \
    'pattern --memory scattered --mode async' 'pattern --selection runs --reopen yes --shift yes --memory gaps' \
    'bulk --transfer 24k --block 240k --depth 3 --check-write --check-read --repetitions 2' \
    'particles --dims 3000 --steps 3 --phase both --memory records --compute 20ms' 'frames --edge 8 --frames 3 --convert --read yes --compute 20ms' \
    "$state"; do
    expect 0 env SHADOW_LATE=all "$TUTTI" run $how "${here[@]}" -n 2 --device shadow --baseline 0
done
# With a limit of copies, too, there are as many buffers as may be in flight, and they are kept.
for limit in 18000 36000; do
    expect 0 env SHADOW_LATE=all "${stencil[@]}" -n 2 --size 64x70 --iterations 12 --write every=1 --device shadow --mode async+bg --inflight 3 --staging-limit $limit
done
# No room for the list of runs of what is read.
expect 0 "$TUTTI" run pattern --memory gaps --dims 1000 --phase write --path kept --keep "${here[@]}" -n 2
expect 1 env SHADOW_MEMORY=20000 "$TUTTI" run pattern --memory gaps --dims 1000 --phase read --path kept "${here[@]}" -n 2 --device shadow
one_line "has no 8000 bytes left"
rm "$data/kept"
# Copies to pageable memory are made by threads, where there are any: the caller waits for none of them.
for how in 'stencil --size 64x70 --iterations 8 --write every=2 --mode async+bg --inflight 2' \
    'bulk --transfer 24k --block 240k --depth 3 --check-read' 'bulk --transfer 24k --block 240k --depth 3 --mode async+bg'; do
    expect 0 env SHADOW_BLOCK=4096 "$TUTTI" run $how "${here[@]}" -n 2 --device shadow --device.staging pageable
done
expect 1 env SHADOW_BLOCK=4096 "${stencil[@]}" -n 2 --size 64x70 --device shadow --device.staging pageable --mode sync
one_line "the main thread waits for a copy of 17920 bytes"
# Rows that are too far apart for a copy of the device are moved by a kernel.
plain host -n 1 --size 64x70
for how in '--mode async+bg' '--mode sync' '--mode async --device.snapshot no' '--mode sync --read every=5'; do
    is_due || continue
    (export SHADOW_PITCH=600; plain there -n 2 --size 64x70 --device shadow $how)
    cmp host there || fail "the file differs from the host's where rows are long: $how"
done
# The estimate of the device's memory is what a run takes there, but for halos and what is computed on.
for how in 'stencil --size 512 --mode async+bg --inflight 2' 'stencil --size 512 --mode async+bg --inflight 2 --read every=5' \
    'stencil --size 512 --mode async+bg --inflight 4 --staging-limit 4m' 'stencil --size 512 --mode async+bg --device.snapshot no' 'stencil --size 512 --mode sync' 'stencil --size 20000x16 --mode sync --read every=5 --read.restart' \
    'particles --dims 50000 --steps 4 --mode async+bg --inflight 2' 'particles --dims 50000 --steps 4 --mode async --phase both --memory records --prefetch' \
    'particles --dims 50000 --steps 4 --mode async --phase both --pattern strided --stride 7 --block 3 --count 6000 --read strided' \
    'particles --dims 50000 --steps 4 --phase both --mode async --backend hdf5 --memory records --conversion library' \
    'frames --edge 40 --frames 3 --mode async+bg --inflight 2 --convert --read yes --compute 20ms' 'frames --edge 40 --frames 3 --mode sync' \
    'checkpoint --width 64 --ffn 140 --depth 2 --vocabulary 5000 --checkpoints 2 --every 2 --mode async+bg --inflight 2' \
    'checkpoint --width 64 --ffn 140 --depth 2 --vocabulary 5000 --checkpoints 2 --every 2 --mode sync' \
    'pattern --dims 100000 --mode sync' 'pattern --dims 100000 --mode async+bg --inflight 2' 'pattern --dims 100000 --mode sync --memory gaps' \
    'pattern --dims 100000 --mode async --memory scattered --variables 3 --fixed 1' 'pattern --dims 100000 --mode async --memory scattered --phase write' \
    'bulk --transfer 1m --block 8m --depth 3 --check-read'; do
    backend=$(sed -n 's/.*--backend \([a-z0-9]*\).*/\1/p' <<<"$how")
    has_backend "${backend:-posix}" && is_due || continue
    [[ $how != stencil* ]] || how+=' --iterations 8 --write every=2'
    rm -f peak
    expect 0 "$TUTTI" run $how "${here[@]}" -n 1 --device shadow --dry-run
    estimate=$(sed -n 's/^device *\([0-9.]*\) MiB of its memory per rank$/\1/p' out)
    expect 0 env SHADOW_PEAK="$work/peak" "$TUTTI" run $how "${here[@]}" -n 1 --device shadow
    holds '$peak / 1048576 / $estimate > 0.97 and $peak / 1048576 / $estimate < 1.03' estimate="${estimate:-0}" peak="$(sort -n peak | tail -1)"
done
# Spot checks, in whichever thread has the data: what was written is read back, and only by them.
if [ -n "${FAULTS:-}" ]; then
    for how in '' '--depth 3' '--depth 3 --mode async+bg'; do
        expect 1 env LD_PRELOAD="$FAULTS" TUTTI_FAULT="call=read match=spot.bulk do=EIO count=all" "${bulk[@]}" -n 1 --read no --paths spot.bulk --device shadow $how
        one_line "10 of 10 sampled blocks are wrong"
        rm -f "$data/spot.bulk"
    done
fi
# Several devices: neighbours share one, unless the map says otherwise.
expect 0 env SHADOW_DEVICES=2 "${stencil[@]}" -n 4 --size 64x70 --device shadow
jq -r '.warnings[]' out.json | grep -q "2 ranks share a device" || fail "sharing: $(jq -c .warnings out.json)"
expect 0 env SHADOW_DEVICES=2 "${stencil[@]}" -n 2 --size 64x70 --device shadow
jq -r '.warnings[]' out.json | grep "ranks share" && fail "nobody shares"
expect 0 env SHADOW_DEVICES=2 "${stencil[@]}" -n 2 --size 64x70 --device shadow --device.map 1
jq -r '.warnings[]' out.json | grep -q "2 ranks share a device" || fail "the map: $(jq -c .warnings out.json)"
# By where they are: each rank one near its CPUs, unless the map says otherwise. The result says which one, and why.
which() { jq -c '[.. | objects | select(.key? == "device" and .proof?) | .read_back, .how]' out.json; }
equal '["device 1 of 2","device.map"]' "$(which)" "the device by the map"
cpus=$(sed -n 's/^Cpus_allowed_list:\s*//p' /proc/self/status)
if [ "${cpus%%[-,]*}" != "${cpus##*[-,]}" ]; then
    for i in 0 1; do
        places=(${cpus%%[-,]*} ${cpus##*[-,]})
        expect 0 env SHADOW_DEVICES=2 SHADOW_PLACES="${places[0]}:${places[1]}" taskset -c "${places[i]}" "${stencil[@]}" -n 1 --size 64x70 --device shadow
        equal "[\"device $i of 2\",\"near the CPUs that the rank may use\"]" "$(which)" "the device near CPU ${places[i]}"
    done
fi
expect 0 env SHADOW_DEVICES=2 SHADOW_PLACES=0:nowhere "${stencil[@]}" -n 2 --size 64x70 --device shadow
which | grep -q "nothing tells which one is near" || fail "an unknown place: $(which)"

# Halos by MPI itself, if it says that it can and processes of their own have survived it; the same field, and nothing left of it.
halo() { jq -c '[.. | objects | select(.key? == "device.halo" and .proof?) | .given, .read_back, .how]' out.json; }
plain host -n 1 --size 40x67 --shape box --perturbation sine
for how in '-n 3 --device.staging pageable' '-n 4 --decomposition blocks --halo overlap --mode async+bg --device.halo direct --device.staging pageable'; do
    # Only the other way needs pinned memory.
    (export SHADOW_MPI=1 SHADOW_OPEN=1 SHADOW_UNPINNED=1; plain there $how --size 40x67 --shape box --perturbation sine --device shadow)
    cmp host there || fail "fields differ where MPI takes halos from the device: $how"
    halo | grep -q '"direct","MPI says that it takes the device.s addresses, and has proved it"' || fail "not direct: $(halo)"
done
(export SHADOW_MPI=1; plain there -n 2 --size 40x67 --shape box --perturbation sine --device shadow)
cmp host there || fail "fields differ after a proof that failed"
equal '["auto","staged","processes that would try it failed: they did not end well"]' "$(halo)" "an MPI that cannot do what it says"
expect 1 env SHADOW_OPEN=1 "${stencil[@]}" -n 2 --size 64 --device shadow --device.halo direct
one_line "device.halo=direct: MPI does not say that it takes addresses of device shadow: use auto or staged"
expect 1 env SHADOW_MPI=1 SHADOW_OPEN=1 SHADOW_WRONG=1 "${stencil[@]}" -n 2 --size 64 --device shadow --device.halo direct
one_line "processes that would try it failed: .*what MPI brought to device memory is not what was sent"
expect 0 env SHADOW_MPI=1 SHADOW_OPEN=1 "${stencil[@]}" -n 2 --size 64 --device shadow --device.halo staged
equal '["staged","staged","as it was asked for"]' "$(halo)" "staged halos"
# The two processes use two devices if ranks of the node do, and MPI as the run does: with threads (3) where it has some.
proof() { # DEVICES OPTIONS...: devices and levels of threads of the two
    rm -f proof
    expect 0 env SHADOW_MPI=1 SHADOW_OPEN=1 SHADOW_DEVICES=2 SHADOW_PROOF="$work/proof" "${stencil[@]}" --size 64 --device shadow "${@:2}"
    halo | grep -q '"direct"' || fail "not direct: $(halo)"
    equal "$1" "$(sort proof | xargs)" "devices and threads of a proof: ${*:2}"
}
proof '0:0 1:0' -n 2 --device.map 0:1
proof '0:3 1:3' -n 4 --device.map 0:0:1:1 --mode async
proof '1:0 1:0' -n 2 --device.map 1:1
# A run that begins again and again proves it once.
rm -rf "${runs:?}" proof
expect 0 env SHADOW_MPI=1 SHADOW_OPEN=1 "${stencil[@]}" -n 2 --size 64 --device shadow
(export SHADOW_MPI=1 SHADOW_OPEN=1 SHADOW_PROOF="$work/proof" iterations_wanted=50; perform_endlessly 2 "$(last_run)")
equal 2 "$(wc -l <proof)" "processes that prove in a run of many passes"
expect 0 env SHADOW_MPI=1 SHADOW_OPEN=1 "${stencil[@]}" -n 2 --size 64 --device shadow --layers cache --cache.dir "$work"
equal '["auto","staged","a layer calls MPI in a thread of its own, beside which nothing proves that it takes them"]' "$(halo)" "halos beside a layer's thread"
expect 1 env SHADOW_MPI=1 SHADOW_OPEN=1 "${stencil[@]}" -n 2 --size 64 --device shadow --layers cache --cache.dir "$work" --device.halo direct
one_line "device.halo=direct: a layer calls MPI in a thread of its own"
expect 0 env SHADOW_MPI=1 SHADOW_OPEN=1 SHADOW_PART=1 "${stencil[@]}" -n 2 --size 64 --device shadow
equal '["auto","staged","ranks of a node have parts of GPUs, between which it cannot be tried"]' "$(halo)" "halos between parts of a GPU"
# An error of MPI on one rank is an answer, too.
if [ -n "${FAULTS:-}" ]; then
    cat >refuse.c <<'EOF'
#include <mpi.h>
int MPI_Isend(const void *data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    if (n != 256 || rank != 2)
        return PMPI_Isend(data, n, type, to, tag, comm, request);
    MPI_Comm_call_errhandler(comm, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
}
EOF
    "$MPICC" -shared -fPIC refuse.c -o refuse.so
    expect 0 env LD_PRELOAD="$work/refuse.so" SHADOW_MPI=1 SHADOW_OPEN=1 "${stencil[@]}" -n 3 --size 64 --device shadow
    halo | grep -q '"staged","MPI_ERR_BUFFER' || fail "an error of MPI: $(halo)"
fi
# A proof that hangs ends, and one whose rank is killed leaves nothing. (unit.process has the launchers that may start one.)
expect 0 env SHADOW_MPI=1 SHADOW_HANG=1 "${stencil[@]}" -n 2 --size 64 --device shadow --patience 2
equal '["auto","staged","processes that would try it failed: they did not end within --patience, 2 s"]' "$(halo)" "a proof that hangs"
ours() { # WORD: processes of this test with that word
    local i
    for i in /proc/[0-9]*; do
        ! grep -qs "TMPDIR=$TMPDIR" "$i/environ" || ! tr '\0' '\n' <"$i/cmdline" | grep -qx "$1" || echo "${i#/proc/}"
    done 2>/dev/null
}
SHADOW_MPI=1 SHADOW_HANG=1 $RANKS 2 "${stencil[@]}" --size 64 --device shadow >out 2>err &
job=$!
for ((i = 0; i < 300; i++)); do
    [ -z "$(ours rank)" ] || break
    sleep 0.1
done
kill -KILL "$(sed -n 's/^PPid:\s*//p' "/proc/$(ours /proc/self/exe)/status")"
! wait $job || fail "nobody was killed"
expect 0 "$TUTTI" show "$(last_run)" # takes its records out of the node's memory
for ((i = 0; i < 100; i++)); do
    [ -n "$(ours prove)" ] || break
    sleep 0.1
done
equal "" "$(ours prove)" "processes of a proof whose rank was killed"
[ -z "$(find "$TMPDIR" -name 'tutti-prove*')" ] || fail "left behind: $(find "$TMPDIR")"
# The functions that stand for kernels leave the device's memory as the text of the kernels does, where it was compiled.
for how in 'stencil --size 61x130 --residual 3 --iterations 4' 'stencil --size 20x31x18 --shape box --perturbation sine --work 3 --iterations 4 --halo overlap' \
    'stencil --size 9x21x77 --residual 1 --iterations 2' "$state" 'bulk --transfer 24k --block 48k --check-read' 'pattern --memory scattered --reopen yes' \
    'particles --dims 300 --steps 2 --phase both --baseline 0 --memory records' 'frames --edge 6 --frames 2 --convert --read yes'; do
    is_due || continue
    expect 0 env SHADOW_COMPARE=1 "$TUTTI" run $how "${here[@]}" -n 2 --device shadow
done
# That text is what ran above.
mkdir broken
for i in "$SHADOW_KERNELS"/*.so; do
    [ ! -e "$i" ] || touch "broken/${i##*/}"
done
if [ -n "$(ls broken)" ]; then
    expect 1 env SHADOW_KERNELS="$work/broken" "${bulk[@]}" -n 1 --device shadow
    grep -qrs "shadow: $work/broken/.*" "$runs" || fail "a kernel that cannot be loaded: $(cat err)"
fi
rm -rf "${data:?}"/* # of the runs that were killed
# A machine without the driver, with one that is too old, without NVRTC, and with one of those that is.
cuda=("${stencil[@]}" -n 2 --size 64x70 --write every=2 --mode async+bg --device cuda)
mkdir old
printf 'int nothing;' >nothing.c
"$MPICC" -shared -fPIC nothing.c -o old/libcuda.so.1
if ! ldconfig -p | grep -q 'libcuda\.so'; then
    expect 1 "${cuda[@]}"
    one_line "the CUDA driver cannot be opened: libcuda.so.1: cannot open shared object file"
fi
expect 1 env LD_LIBRARY_PATH=old "${cuda[@]}"
one_line "device cuda: the CUDA driver is older than needed: it has no cuInit"
expect 1 env LD_LIBRARY_PATH="$FAKE_CUDA" "${cuda[@]}" --cuda.nvrtc "$work/none"
one_line "cuda.nvrtc: '$work/none' cannot be opened: No such file or directory; give the path of libnvrtc.so"
mkfifo fifo
expect 1 env LD_LIBRARY_PATH="$FAKE_CUDA" "${cuda[@]}" --cuda.nvrtc "$work/fifo"
one_line "cuda.nvrtc: '$work/fifo' cannot be opened: it is not a file"
expect 1 env LD_LIBRARY_PATH="$FAKE_CUDA" "${cuda[@]}" --cuda.nvrtc "$work/old/libcuda.so.1"
one_line "device cuda: '$work/old/libcuda.so.1' is not NVRTC, or older than needed: it has no nvrtcVersion"

# NVRTC of CUDA_HOME: of the driver's version or an older one, the newest of them.
mkdir -p home/lib64
names() { # VERSION NVRTC: which one a driver of that version takes
    is_due || return 0
    expect 0 env LD_LIBRARY_PATH="$FAKE_CUDA" FAKE_CUDA_VERSION="$1" CUDA_HOME="$work/home" "${cuda[@]}"
    equal "$work/home/lib64/$2" "$(jq -r '.. | objects | select(.key? == "cuda.libraries" and .how?).how' out.json)" "NVRTC for a driver of $1"
}
for name in libnvrtc.so.11.1 libnvrtc.so.11.2 libnvrtc.so.12 libnvrtc.so.14; do
    cp "$FAKE_CUDA/libcuda.so.1" "home/lib64/$name"
    [ $name != libnvrtc.so.11.1 ] || names 11010 $name
done
names 11080 libnvrtc.so.11.2
# Its second library is beside it, and nowhere else.
expect 1 env LD_LIBRARY_PATH="$FAKE_CUDA" FAKE_CUDA_BUILTINS=yes CUDA_HOME="$work/home" "${cuda[@]}"
one_line "failed to open libnvrtc-builtins.so.0.0"
"$MPICC" -shared -fPIC -Wl,-soname,libnvrtc-builtins.so.0.0 nothing.c -o home/lib64/libnvrtc-builtins.so.0.0
expect 0 env LD_LIBRARY_PATH="$FAKE_CUDA" FAKE_CUDA_BUILTINS=yes CUDA_HOME="$work/home" "${cuda[@]}"
names 13000 libnvrtc.so.12
names 15010 libnvrtc.so.14
rm home/lib64/libnvrtc.so.1[12]*
if ! ldconfig -p | grep -q 'libnvrtc\.so' && [ ! -e /usr/local/cuda ]; then
    expect 1 env LD_LIBRARY_PATH="$FAKE_CUDA" CUDA_HOME="$work/home" "${cuda[@]}"
    one_line "the driver is here, but not NVRTC"
    cp "$FAKE_CUDA/libcuda.so.1" home/lib64/libnvrtc.so
    names 13000 libnvrtc.so
fi

# What fails on a GPU, by a driver that computes nothing: each ends in one line, and nothing is left behind.
ends() { # WORDS VARIABLES... -- OPTIONS...: of the line that says why
    local words=$1 told=()
    is_due || return 0
    while shift && [ "$1" != -- ]; do told+=("$1"); done
    expect 1 env LD_LIBRARY_PATH="$FAKE_CUDA" "${told[@]}" "$TUTTI" run "${@:2:1}" "${here[@]}" -n 2 --device cuda \
        --cuda.nvrtc "$FAKE_CUDA/libcuda.so.1" --patience 2 "${@:3}"
    one_line "$words"
    no_data_left
}
works=(-- stencil --size 64x70 --iterations 8 --write every=2 --mode async+bg)
frames=(-- frames --edge 12 --frames 4 --mode async+bg)
checkpoint=(-- $state)
expect 0 env LD_LIBRARY_PATH="$FAKE_CUDA" "${cuda[@]}" --cuda.nvrtc "$FAKE_CUDA/libcuda.so.1"
equal "0.4 1048576" "$(value device_utilisation) $(value device_memory)" "what NVML says"
ends 'rank 0: device 0 \(fake\) has [0-9.]* of [0-9.]* MiB left, and [0-9.]* MiB are needed' FAKE_CUDA_MEMORY=50000 "${works[@]}"
ends 'cuDevicePrimaryCtxRetain: .* busy or unavailable' FAKE_CUDA_FAIL=cuDevicePrimaryCtxRetain=46@1 "${works[@]}"
ends 'the host cannot pin [0-9.]* MiB of its memory: cuMemHostAlloc: operation not supported \(error 801\)' \
    FAKE_CUDA_FAIL=cuMemHostAlloc=801@2 "${works[@]}"
ends 'the driver is here, but sees no device; use a machine with' FAKE_CUDA_FAIL=cuInit=100@1 "${works[@]}"
ends 'rank 1: device cuda: cuCtxSetCurrent: unspecified launch failure' FAKE_CUDA_FAIL=cuCtxSetCurrent=719@40 FAKE_CUDA_RANK=1 "${works[@]}"
ends 'device cuda: nvrtcCreateProgram of NVRTC 0.0: error 7' FAKE_CUDA_FAIL=nvrtcCreateProgram=7@1 "${works[@]}"
ends 'device cuda: nvrtcGetCUBIN of NVRTC 0.0: error 4' FAKE_CUDA_FAIL=nvrtcGetCUBIN=4@1 "${works[@]}"
ends 'cuInit: system has unsupported display driver' FAKE_CUDA_FAIL=cuInit=803@1 "${works[@]}"
ends 'the driver, for CUDA 12.2, refuses kernels that NVRTC 0.0 has compiled: the provided PTX .* \(error 222\); give NVRTC of CUDA 12 or older' \
    FAKE_CUDA_VERSION=12020 FAKE_CUDA_FAIL=cuModuleLoadData=222@1 "${works[@]}"
# Ranks that have parts of one GPU (MIG) do not share a device, and NVML is asked about the part.
for part in '' 1; do
    expect 0 env LD_LIBRARY_PATH="$FAKE_CUDA" ${part:+FAKE_CUDA_MIG=1} "${cuda[@]}" --cuda.nvrtc "$FAKE_CUDA/libcuda.so.1"
    said=$(jq -r '.. | objects | select(.key? == "cuda.device" and .how?).read_back' out.json)
    sharing=$(jq -r '.warnings[]' out.json | grep -c 'ranks share a device' || true)
    equal "$([ -n "$part" ] && echo '0 524288 fake MIG 1g.10gb, part of the GPU 0000:00:00.0' || echo '1 1048576 fake, 0000:00:00.0')" \
        "$sharing $(value device_memory) ${said%%, compute*}" "a part of a GPU: $part"
done
# NVRTC that does not know the device makes PTX, for the newest that it knows; of devices before that it knows nothing.
expect 0 env LD_LIBRARY_PATH="$FAKE_CUDA" FAKE_CUDA_CAPABILITY=120 FAKE_CUDA_ARCH=90 "${cuda[@]}" --cuda.nvrtc "$FAKE_CUDA/libcuda.so.1"
ends 'nvrtcGetPTX of NVRTC 0.0: error 4' FAKE_CUDA_CAPABILITY=120 FAKE_CUDA_ARCH=90 FAKE_CUDA_FAIL=nvrtcGetPTX=4@1 "${works[@]}"
ends 'does not compile the kernels for compute capability 7.0: error: invalid value for --gpu-arch' FAKE_CUDA_CAPABILITY=70 FAKE_CUDA_ARCH=90 \
    "${works[@]}"
ends 'NVRTC 0.0 does not compile the kernels for compute capability 9.0: error: identifier "u65" is undefined' \
    FAKE_CUDA_FAIL=nvrtcCompileProgram=6@1 "${works[@]}"
# Lost by one rank: nothing works on it from then on, freeing its memory neither. The line names the first call that failed; beside
# a helper, which asks the device, too, any of them.
for how in '' '--halo overlap'; do
    ends 'rank 1: device cuda: cuLaunchKernel: unspecified launch failure' FAKE_CUDA_FAIL=cuLaunchKernel=719@10 FAKE_CUDA_RANK=1 \
        "${works[@]/async+bg/sync}" $how
done
ends 'rank 1: .*: unspecified launch failure' FAKE_CUDA_FAIL=cuLaunchKernel=719@5 FAKE_CUDA_RANK=1 "${works[@]}"
ends 'rank 1: .*: unspecified launch failure' FAKE_CUDA_FAIL=cuEventSynchronize=719@3 FAKE_CUDA_RANK=1 "${works[@]}" --halo overlap
ends 'rank 1: .*: uncorrectable ECC error' FAKE_CUDA_FAIL=cuMemcpyAsync=214@5 FAKE_CUDA_RANK=1 "${frames[@]}"
ends 'rank 1: .*: uncorrectable ECC error' FAKE_CUDA_FAIL=cuMemcpyAsync=214@40 FAKE_CUDA_RANK=1 "${checkpoint[@]}" --mode async+bg
ends 'rank 1: .*: unspecified launch failure' FAKE_CUDA_FAIL=cuEventRecord=719@9 FAKE_CUDA_RANK=1 -- bulk --transfer 24k --block 240k --depth 3
ends 'rank 1: .*: unspecified launch failure' FAKE_CUDA_FAIL=cuStreamSynchronize=719@9 FAKE_CUDA_RANK=1 -- particles --dims 3000 --steps 4 --mode async
# A driver that does not come back.
for how in 'cuStreamSynchronize=hang@60 stencil --size 64 --iterations 400 --write every=20' 'cuMemcpyAsync=hang@20 bulk --transfer 24k --block 2400k'; do
    ends 'rank 1 on .* has been in a call of its device for .*after nothing moved for 20 times --patience' FAKE_CUDA_FAIL="${how%% *}" FAKE_CUDA_RANK=1 \
        -- ${how#* } --patience 0.2
done
# Killed in the middle of a copy.
ends 'rank 1 .*died' FAKE_CUDA_FAIL=cuMemcpyAsync=kill@7 FAKE_CUDA_RANK=1 "${works[@]}"
ends 'rank 1 .*died' FAKE_CUDA_FAIL=cuMemcpyAsync=kill@5 FAKE_CUDA_RANK=1 "${frames[@]}"
ends 'rank 1 .*died' FAKE_CUDA_FAIL=cuMemcpyAsync=kill@40 FAKE_CUDA_RANK=1 "${checkpoint[@]}"
