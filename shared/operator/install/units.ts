import type { ProcfileLine } from '../../launcher/procfile.js';

export interface Installation {
  /** The folder with all versions; its symbolic link `current` points to the one in use. */
  root: string;
  dataDir: string;
  settingsFile: string;
  ports: { api: number; edge: number };
  isEmbedded: boolean;
}

/** The user for the processes that do not need root. */
export const SYSTEM_USER = 'ranvier';
export const TARGET = 'ranvier.target';
export const POSTGRES_UNIT = 'ranvier-postgres.service';

/** systemd restrictions for processes that neither isolate applications nor administer the host. */
const HARDENING = [
  ...['NoNewPrivileges=yes', 'PrivateTmp=yes', 'PrivateDevices=yes', 'ProtectHome=yes', 'ProtectSystem=strict'],
  ...['ProtectClock=yes', 'ProtectHostname=yes', 'ProtectKernelLogs=yes', 'ProtectKernelModules=yes'],
  ...['ProtectKernelTunables=yes', 'ProtectControlGroups=yes', 'ProtectProc=invisible', 'RestrictNamespaces=yes'],
  ...['RestrictRealtime=yes', 'RestrictSUIDSGID=yes', 'LockPersonality=yes', 'SystemCallArchitectures=native'],
  ...['SystemCallFilter=@system-service', 'UMask=0077'],
];
const SOCKETS = 'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK';
/** The edge accesses sites and sockets of other users, and listens on ports below 1024. */
const EDGE_CAPABILITIES = 'CapabilityBoundingSet=CAP_DAC_OVERRIDE CAP_DAC_READ_SEARCH CAP_NET_BIND_SERVICE';

/** Returns systemd units by file name: the target, the sockets, and one service per Procfile line. */
export function unitFiles(installation: Installation, processes: readonly ProcfileLine[]): Record<string, string> {
  const { ports, isEmbedded } = installation;
  const files: Record<string, string> = {
    [TARGET]: text({ Unit: ['Description=Ranvier'], Install: ['WantedBy=multi-user.target'] }),
    'ranvier-api.socket': socket(ports.api),
    'ranvier-edge.socket': socket(ports.edge),
  };
  if (isEmbedded) {
    const command = 'node dist/shared/operator/postgres/main.js';
    files[POSTGRES_UNIT] = service(installation, { name: 'postgres', command });
  }
  for (const line of processes) files[`ranvier-${line.name}.service`] = service(installation, line);
  return files;
}

function socket(port: number): string {
  return text({
    Unit: ['Description=Holds connections while a process of Ranvier is restarted', `PartOf=${TARGET}`],
    Socket: [`ListenStream=${port}`, 'Backlog=4096', 'NoDelay=true'],
    Install: [`WantedBy=${TARGET}`],
  });
}

function service(installation: Installation, { name, command }: ProcfileLine): string {
  const { root, settingsFile, isEmbedded } = installation;
  const after = [
    ...(isEmbedded && name !== 'postgres' ? [POSTGRES_UNIT] : []),
    ...(name === 'api' || name === 'edge' ? [`ranvier-${name}.socket`] : []),
  ];
  return text({
    Unit: [
      `Description=Ranvier: ${name}`,
      `PartOf=${TARGET}`,
      `After=${['network-online.target', ...after].join(' ')}`,
      `Wants=${['network-online.target', ...after].join(' ')}`,
      // systemd keeps restarting the process while the database is unavailable.
      'StartLimitIntervalSec=0',
    ],
    Service: [
      `WorkingDirectory=${root}/current/package`,
      `EnvironmentFile=${settingsFile}`,
      // With these values, glibc returns more of the freed memory to the system (docs/how-to/install.md).
      'Environment=MALLOC_ARENA_MAX=2 MALLOC_MMAP_THRESHOLD_=131072',
      `ExecStart=${command.replace(/^node /, `${root}/current/node `)}`,
      `SyslogIdentifier=ranvier-${name}`,
      ...['Restart=always', 'RestartSec=1', 'TimeoutStopSec=60'],
      ...partOf(installation, name),
    ],
    Install: [`WantedBy=${TARGET}`],
  });
}

function partOf({ dataDir }: Installation, name: string): string[] {
  switch (name) {
    case 'postgres':
      return [
        ...[`User=${SYSTEM_USER}`, `ReadWritePaths=${dataDir}/postgres`, 'KillMode=mixed', 'CapabilityBoundingSet='],
        ...['RestrictAddressFamilies=AF_UNIX', ...HARDENING],
      ];
    case 'api':
      return [
        `User=${SYSTEM_USER}`,
        `ReadWritePaths=${dataDir}/pushed`,
        'CapabilityBoundingSet=',
        SOCKETS,
        ...HARDENING,
      ];
    case 'edge':
      return [`ReadWritePaths=${dataDir}`, EDGE_CAPABILITIES, SOCKETS, ...HARDENING];
    default:
      // Hosted applications outlive their worker, but systemd counts them as processes of the worker's unit.
      return ['KillMode=process', 'Delegate=yes', 'TasksMax=infinity', 'OOMPolicy=continue', 'LimitNOFILE=1048576'];
  }
}

function text(sections: Record<string, readonly string[]>): string {
  return Object.entries(sections)
    .map(([name, lines]) => `[${name}]\n${lines.map((line) => `${line}\n`).join('')}`)
    .join('\n');
}
