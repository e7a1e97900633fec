// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are code, in which these stand
import type { Fault } from '../fault.js';

const RULES = 'workers/network/network-rules.ts';

export const NETWORK_FAULTS: readonly Fault[] = [
  {
    name: 'network: a sandbox sends in the name of another one',
    file: RULES,
    find: 'iifname . ip saddr != @own drop',
    replace: 'accept',
    places: 2,
  },
  {
    name: 'network: the host is open to sandboxes',
    file: RULES,
    find: 'iifname @loopback ct status dnat tcp dport',
    replace: 'iifname != lo tcp dport',
  },
  {
    name: 'network: private networks are open',
    file: RULES,
    find: "    '10.0.0.0/8',\n",
    replace: '',
  },
  {
    name: 'network: the metadata of clouds is open',
    file: RULES,
    find: "    '169.254.0.0/16',\n",
    replace: '',
  },
  {
    name: 'network: applications use the ports of builds',
    file: RULES,
    find: "(use === 'build' || settings.loopbackForAll)",
    replace: 'true',
  },
  {
    name: 'network: any process of the host reaches sandboxes',
    file: RULES,
    find: "    meta skuid != { ${settings.edgeUsers.join(', ')} } reject\n",
    replace: '',
  },
];
