# SPDX-License-Identifier: GPL-3.0-or-later
# The examples for other tools: checks for ReFrame, a recipe for Spack, batch scripts for Slurm. Where ReFrame is installed it runs
# its checks itself; Debian has no package of it, so else their command lines are run, and their functions applied to what tutti
# wrote. The batch scripts run in testbed-slurm-templates.sh.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs jq python3
examples=$SOURCE/examples
PATH=$(dirname "$TUTTI"):$PATH
export PATH PYTHONDONTWRITEBYTECODE=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
for script in "$examples"/slurm/*.sbatch; do expect 0 bash -n "$script"; done
for file in "$examples"/reframe/tutti_checks.py "$examples"/spack/package.py; do
    expect 0 python3 -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$file"
done

# As much of ReFrame as reading a check needs: its words inside of a class, and its decorators.
mkdir -p stand_in/reframe/utility stand_in/reframe/core
cat >stand_in/reframe/__init__.py <<'END'
checks = []
def simple_test(check):
    checks.append(check)
    return check
def mark(**marks):
    def take(function):
        for name, value in marks.items():
            setattr(function, name, value)
        return function
    return take
class Meta(type):
    @classmethod
    def __prepare__(meta, name, bases):
        words = dict(variable=lambda kind, value=None: value, parameter=list, run_before=lambda stage: mark(before=stage),
                     sanity_function=mark(sanity=True), performance_function=lambda unit: mark(unit=unit))
        return words | {k: v for base in bases for k, v in vars(base).items() if not k.startswith("__") and not callable(v)}
class RunOnlyRegressionTest(metaclass=Meta):
    pass
END
touch stand_in/reframe/utility/__init__.py stand_in/reframe/core/__init__.py
cat >stand_in/reframe/utility/sanity.py <<'END'
def assert_eq(a, b):
    assert a == b, (a, b)
    return True
END
echo 'def getlauncher(name): return lambda: name' >stand_in/reframe/core/backends.py
cat >check.py <<'END'
# check.py NAME [KEY=VALUE...] -- LAUNCHER...: run a check as ReFrame would, in a stage directory, and print its numbers.
import itertools, json, os, subprocess, sys, tempfile, types
sys.path[:0] = ["stand_in", os.environ["SOURCE"] + "/examples/reframe"]
import reframe, tutti_checks
name, cut = sys.argv[1], sys.argv.index("--")
check = next(c for c in reframe.checks if c.__name__ == name)
for key, value in (word.split("=", 1) for word in sys.argv[2:cut]):
    assert hasattr(check, key), key
    setattr(check, key, type(getattr(check, key))(value))
parameters = [k for k in vars(check) if isinstance(getattr(check, k), list) and k not in ("valid_systems", "valid_prog_environs", "keep_files")]
for values in itertools.product(*(getattr(check, k) for k in parameters)):
    one = check()
    vars(one).update(zip(parameters, values), stagedir=tempfile.mkdtemp(dir="."), job=types.SimpleNamespace(launcher="mpirun"))
    marked = [getattr(one, k) for k in dir(check) if callable(getattr(one, k)) and not k.startswith("__")]
    for hook in marked:
        if getattr(hook, "before", None) == "run":
            hook()
    launcher = [] if one.job.launcher == "local" else sys.argv[cut + 1:]
    subprocess.run([*launcher, one.executable, *one.executable_opts], cwd=one.stagedir, check=True, stdout=subprocess.DEVNULL)
    assert all([f() for f in marked if hasattr(f, "sanity")])
    numbers = {f.__name__: [f(), f.unit] for f in marked if hasattr(f, "unit")}
    assert numbers.keys() == check.reference["*"].keys(), numbers
    for key, (value, unit) in numbers.items():
        assert value > 0 and check.reference["*"][key][3] == unit, (key, value, unit)
    print(json.dumps([*values, one.stagedir, numbers]))
END
expect 0 python3 check.py TuttiBulk "data=$data" block=256k -- "${ranks[@]}" 2
equal '"mpiio" "posix"' "$(jq '.[0]' out | sort | paste -sd ' ')" "the backends"
stage=$(jq -r 'select(.[0] == "posix")[1]' out)
holds '$a * 1e6 == $b or ($a * 1e6 / $b - 1 | fabs) < 1e-9' a="$(jq 'select(.[0] == "posix")[2].write_rate[0]' out)" b="$(metric write_rate "$stage/answer.json")"
printf '%s\n' 'reference: {workload: stencil, size: 64, iterations: 100, write: {every: 20}, min_free: 0}' 'load: {same: reference}' \
    'alone: 1' 'loads_alone: no' 'settle: 0' 'warmup: 0s' >small.yaml
expect 0 python3 check.py TuttiSlowdown "data=$data" repeat=1 "ensemble=$work/small.yaml" others=1 -- not used
holds '$s > 0' s="$(jq '.[1].slowdown[0]' out)"
no_data_left
if command -v reframe >/dev/null; then
    LIMIT=110 expect 0 reframe --prefix "$work/reframe" -c "$examples/reframe" -n TuttiBulk -r -S "data=$data" -S TuttiBulk.block=256k -S TuttiBulk.num_tasks=1
fi

# The recipe names every library that the build requires, and its test knows what the program says.
cat >recipe.py <<'END'
import os, re, sys, types
wanted, tests = [], {}
package = types.ModuleType("spack.package")
vars(package).update({k: (lambda *a, **o: None) for k in ("license", "version", "variant", "conflicts")},
                     depends_on=lambda spec, **o: wanted.append(re.match(r"[a-z0-9-]+", spec)[0]))
cmake = types.ModuleType("cmake")
cmake.CMakePackage = object
parts = ["spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems", "spack"]
sys.modules.update({k: types.ModuleType(k) for k in parts}, **{"spack.package": package, "spack_repo.builtin.build_systems.cmake": cmake})
source = os.environ["SOURCE"]
space = {}
exec(open(source + "/examples/spack/package.py").read(), space)
# what pkg-config and Spack call the same thing
names = {"yaml-0.1": "libyaml", "libxxhash": "xxhash", "sqlite3": "sqlite", "libzstd": "zstd", "liblz4": "lz4", "zlib": "zlib-api"}
line = re.search(r"pkg_check_modules\(BASE REQUIRED IMPORTED_TARGET ([^)]*)\)", open(source + "/CMakeLists.txt").read())[1]
missing = [m for m in line.split() if names.get(m, m) not in wanted]
assert not missing and "mpi" in wanted and "cmake" in wanted, (missing, wanted)
said = os.popen("tutti --version").read()
space["which"] = lambda path: lambda *words, **o: said
space["check_outputs"] = lambda pattern, text: tests.setdefault("found", re.search(pattern, text))
recipe = space["Tutti"]()
recipe.prefix = types.SimpleNamespace(bin=types.SimpleNamespace(tutti="tutti"))
recipe.test_version()
assert tests["found"], said
END
expect 0 python3 recipe.py
