scratch=$1 engine=$2
shift 3

# As in container.sh: where crun refuses, what a Dockerfile runs gets no control group.
split=$(cat /sys/fs/cgroup/unified/cgroup.controllers 2>/dev/null)
if [ "$engine" = podman ] && [ -n "$split" ] && [ "$(id -u)" = 0 ]; then
    export BUILDAH_ISOLATION="${BUILDAH_ISOLATION:-chroot}"
fi

# What an engine leaves there goes with the folder. Where nobody names a place it knows a better one for large files than /tmp.
[ -z "$TMPDIR" ] || export TMPDIR="$scratch"

# The last line is the image: another build may give its name to another one meanwhile.
"$engine" build --iidfile "$scratch/image" "$@" || exit
echo
sed 's/^sha256://' "$scratch/image"
