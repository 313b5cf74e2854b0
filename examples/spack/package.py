# SPDX-License-Identifier: GPL-3.0-or-later
# A recipe for Spack 1.0 or later. In a repository of your own:
#   spack repo create my-repo && mkdir -p my-repo/packages/tutti
#   cp package.py my-repo/packages/tutti/ && spack repo add my-repo
#   spack install tutti ^openmpi
# The backend netcdf is left out: the build looks for it by Debian's name, netcdf-mpi.
# There is no release yet whose address and checksum could stand here: a checkout is built by
#   spack dev-build tutti@main        in the tree of tutti, or
#   spack develop --path PATH tutti@main    in an environment.
from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Tutti(CMakePackage):
    """Benchmark HPC systems the way they are used: jobs that compute, communicate and do I/O at
    the same time, alone and with others around them."""

    license("GPL-3.0-or-later")

    version("main", branch="main")

    variant("hdf5", default=True, description="backend hdf5")
    variant("pnetcdf", default=False, description="backend pnetcdf")
    variant("uring", default=False, description="backend uring")
    variant("zfp", default=False, description="codec zfp of layer compress")

    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi@3.1:")
    depends_on("libyaml")
    depends_on("jansson")
    depends_on("xxhash")
    depends_on("hwloc@2:")
    depends_on("sqlite")
    depends_on("gsl")
    depends_on("zstd")
    depends_on("lz4")
    depends_on("zlib-api")

    depends_on("hdf5@1.10:+mpi", when="+hdf5")
    depends_on("parallel-netcdf", when="+pnetcdf")
    depends_on("liburing", when="+uring")
    depends_on("zfp", when="+zfp")

    conflicts("platform=darwin", msg="tutti reads /proc and /sys of Linux")
    conflicts("platform=windows", msg="tutti reads /proc and /sys of Linux")

    def test_version(self):
        """the installed program tells its version"""
        tutti = which(self.prefix.bin.tutti)
        out = tutti("--version", output=str.split, error=str.split)
        check_outputs(r"^tutti [0-9.]+ \(", out)
