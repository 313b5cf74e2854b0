# SPDX-License-Identifier: GPL-3.0-or-later
# A data directory that one rank does not share: every backend says which rank and where, and none waits.
# processors: 1
. "$(dirname "$0")/lib.sh"
needs_root
private_mounts "$@"

# Rank 1 has a directory of its own in the same place, as a node without the shared file system has.
mkdir elsewhere
cat >apart <<END
#!/bin/bash
[ "\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}" = 1 ] || exec "\$@"
exec unshare -m --propagation private bash -c 'mount -t tmpfs none "\$1" && shift && exec "\$@"' - "\$PLACE" "\$@"
END
chmod +x apart
job=("${ranks[@]}" 2 "$work/apart" "$TUTTI" run stencil --size 48 --iterations 6 --write every=3 "${here[@]}" --patience 0.5 --quiet)
said() { grep -q "^tutti: rank 1: $(hostname) does not see '[^']*' in the directory '$1' of rank 0 (.*); choose one that all nodes share with --dir" err || { cat err; fail "not said of $1"; }; }
for backend in posix mpiio hdf5 netcdf pnetcdf; do
    has_backend $backend || continue
    PLACE=$data expect 1 "${job[@]}" --backend $backend
    said "$data"
    no_data_left
    # A path of the user's, outside of it.
    PLACE=$work/elsewhere expect 1 "${job[@]}" --backend $backend --write.path "$work/elsewhere/file"
    said "$work/elsewhere"
    [ -z "$(find elsewhere data -mindepth 1)" ] || fail "left behind: $(find elsewhere data -mindepth 1)"
done
# A file per process needs the directory as well.
PLACE=$data expect 1 "${job[@]}" --write files=process
said "$data"
# And what is shared is no error.
mkdir third
PLACE=$work/third expect 0 "${job[@]}" --write.path "$work/elsewhere/file"
[ -z "$(find elsewhere data -mindepth 1)" ] || fail "left behind: $(find elsewhere data -mindepth 1)"
