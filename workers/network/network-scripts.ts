/** Shell programs. Their text is constant, and every value is an argument. */

/**
 * Creates a namespace with a link to the host. Arguments: name, gateway, address, kind. The kind is `plain`, `resolver`
 * (the host's DNS server listens on loopback only) or `loopback` (the sandbox can also reach ports on the host's
 * loopback; standard input is the nft script for that). Each end of the link has one address and a route only to the
 * other end, so the host's rules decide about every connection to another machine.
 */
export const MAKE = `
set -e
name=$1 gateway=$2 address=$3 kind=$4
ip -batch - <<END
netns add $name
link add $name type veth peer name eth0 netns $name
link set $name addrgenmode none
addr add $gateway peer $address dev $name
link set $name up
END
# A name server or a registry that listens on the host's loopback only is reached through an address translation.
[ "$kind" = plain ] || echo 1 >"/proc/sys/net/ipv4/conf/$name/route_localnet"
exec nsenter --net="/run/netns/$name" /bin/sh -ec '
  { echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6; } 2>/dev/null || :
  # Applications run without privileges, and some listen on port 80.
  { echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start; } 2>/dev/null || :
  ip -batch - <<END
link set lo up
addr add $2 peer $1 dev eth0
link set eth0 up
route add default via $1
END
  if [ "$3" = loopback ]; then
    echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet
    exec nft -f -
  fi
' namespace "$gateway" "$address" "$kind"
`;

/** Arguments: names of namespaces and links. Names that do not exist are ignored. */
export const REMOVE = `
for name; do
  [ ! -e "/proc/sys/net/ipv4/conf/$name" ] || ip link delete "$name" 2>/dev/null
  [ ! -e "/run/netns/$name" ] || ip netns delete "$name"
done
for name; do
  if [ -e "/proc/sys/net/ipv4/conf/$name" ] || [ -e "/run/netns/$name" ]; then echo "$name is still there" >&2; exit 1; fi
done
`;

/** Argument: the name of a namespace. Standard input is the nft script. */
export const SET_PORTS = `
exec nsenter --net="/run/netns/$1" /bin/sh -ec '
  echo 1 >/proc/sys/net/ipv4/conf/all/route_localnet
  exec nft -f -
'
`;

/**
 * Keeps the parent namespace of a rootless network open until this program is killed or its folder is removed.
 * Argument: the folder. The program writes to descriptor 3 when it is ready. Its exit closes the pipe `alive`, which
 * stops slirp4netns.
 */
export const HOLD = `
set -e
cd "$1"
[ -p alive ] || { rm -f alive; mkfifo -m 600 alive; }
exec 4<>alive
mount -n -t tmpfs -o mode=0755,size=4m tmpfs /run
mkdir /run/netns
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
echo ready >&3
exec 3>&- >/dev/null 2>&1
while [ -p alive ]; do sleep 30; done
`;

/**
 * The exit of the process that holds the namespace closes the pipe `alive` (descriptor 4). Then slirp4netns exits too.
 */
export const UPLINK = 'exec 4<alive; exec slirp4netns "$@"';
