/** Field → value in the API → label in the console. Values without a label are shown as they are. */
const LABELS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  autoDeploy: { off: 'Off', commit: 'On every commit' },
  buildMethod: {
    railpack: 'Detect automatically',
    dockerfile: 'Dockerfile',
    static: 'Static files, no build',
    image: 'Container image',
  },
  cacheProfile: { none: 'No caching', static: 'Files with a hash in their name', all: 'All files' },
  currency: { USD: 'US dollar (USD)', NGN: 'Nigerian naira (NGN)' },
  evictionPolicy: {
    noeviction: 'Refuse writes (noeviction)',
    'allkeys-lru': 'Least recently used (allkeys-lru)',
    'allkeys-lfu': 'Least often used (allkeys-lfu)',
    'allkeys-random': 'Any key (allkeys-random)',
    'volatile-lru': 'Least recently used with an expiry (volatile-lru)',
    'volatile-lfu': 'Least often used with an expiry (volatile-lfu)',
    'volatile-random': 'Any key with an expiry (volatile-random)',
    'volatile-ttl': 'Expiring soonest (volatile-ttl)',
  },
  notifications: {
    workspace: 'Use the workspace setting',
    all: 'All deployments',
    failure: 'Failed deployments',
    none: 'None',
  },
  deployNotifications: { all: 'All deployments', failure: 'Failed deployments', none: 'None' },
  overlappingDeploys: { cancel: 'Cancel the running deployment', wait: 'Wait for the running deployment' },
  plan: { free: 'Free', starter: 'Starter', standard: 'Standard', pro: 'Pro', pro_plus: 'Pro Plus' },
  previewDatabases: { shared: 'Those of the service', own: 'Own, from the latest backup', none: 'None' },
  previewMode: { off: 'Off', manual: 'Manual', automatic: 'Automatic' },
  region: { auto: 'Automatic', local: 'Local' },
  defaultRegion: { auto: 'Automatic', local: 'Local' },
  runtime: {
    auto: 'Detect automatically',
    node: 'Node.js',
    python: 'Python',
    go: 'Go',
    ruby: 'Ruby',
    rust: 'Rust',
    elixir: 'Elixir',
    php: 'PHP',
    docker: 'Docker',
    image: 'Container image',
    static: 'Static files',
  },
  scaling: { manual: 'Manual', auto: 'Automatic' },
  sourceType: { repository: 'Git repository', image: 'Container image', push: 'Git push to this platform' },
};

export function optionLabel(field: string, value: string): string {
  return LABELS[field]?.[value] ?? value;
}
