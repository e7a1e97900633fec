#!/bin/sh
# Starts systemd as process 1 of a host of its own: the files of this machine under a layer in memory.
# Called as `systemd-host.sh <folder> <name> <shared folder>...`: both machines write to a shared folder below /tmp.
# The control groups are below those with that name.
set -e
if [ "$INSIDE" = '' ]; then
  for procs in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do
    group=${procs%/*}/$2
    [ -e "$procs" ] && mkdir -p "$group" || continue
    for file in cpuset.cpus cpuset.mems; do
      [ ! -e "$group/$file" ] || cat "${procs%/*}/$file" >"$group/$file"
    done
    echo $$ >"$group/cgroup.procs"
  done
  exec unshare --mount --propagation private --pid --fork --kill-child --uts --ipc --net --cgroup env INSIDE=yes /bin/sh "$0" "$@"
fi
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
cd "$1/root"
mount -t proc proc proc
# If /sys is read-only, systemd leaves the devices of the machine alone.
mount -t sysfs -o ro sysfs sys
mount --rbind /dev dev
mount -t tmpfs -o mode=1777 tmpfs tmp
top=$1
shift 2
for shared; do
  mkdir -p "$top/root$shared"
  mount --rbind "$shared" "$top/root$shared"
done
mount -t tmpfs tmpfs run
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup2 sys/fs/cgroup
else
  mount -t tmpfs -o mode=755 tmpfs sys/fs/cgroup
  mkdir sys/fs/cgroup/systemd
  mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd
  for controller in cpu cpuacct cpuset memory devices freezer blkio pids; do
    [ -e "/sys/fs/cgroup/$controller" ] || continue
    mkdir "sys/fs/cgroup/$controller"
    mount -t cgroup -o "$controller" cgroup "sys/fs/cgroup/$controller"
  done
fi
# Nothing of the machine's own is started or cleaned.
rm -rf etc/systemd/system/*.wants
ln -sf /dev/null etc/systemd/system/systemd-tmpfiles-setup.service
exec chroot . /usr/bin/env -i container=other "PATH=$PATH" /lib/systemd/systemd --system --unit=multi-user.target
