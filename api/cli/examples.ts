import type { Command } from 'commander';

/** An example for the help of each command, by its name without `rnv`. */
const EXAMPLES: Readonly<Record<string, string>> = {
  login: 'rnv login --url https://ranvier.example.com --email you@example.com',
  logout: 'rnv logout --all',
  whoami: 'rnv whoami',
  init: 'rnv init --name shop --kind web',
  up: 'rnv up --name shop',
  deploy: 'rnv deploy -s shop --branch main --clear-cache',
  status: 'rnv status -s shop',
  services: 'rnv services --json',
  logs: 'rnv logs -s shop --follow --source runtime --since 15m',
  open: 'rnv open -s shop --console',
  rollback: 'rnv rollback -s shop',
  deployments: 'rnv deployments -s shop -n 5',
  cancel: 'rnv cancel -s shop',
  restart: 'rnv restart -s shop',
  suspend: 'rnv suspend -s shop --yes',
  resume: 'rnv resume -s shop',
  ps: 'rnv ps -s shop',
  scale: 'rnv scale -s shop --min 1 --max 5',
  run: 'rnv run -s shop -- npm run migrate',
  shell: 'rnv shell shop',
  exec: 'rnv exec shop -- ls -l',
  connect: 'rnv connect orders-db --port 15432',
  psql: 'rnv psql orders-db -- -c "select now()"',
  'redis-cli': 'rnv redis-cli cache -- PING',
  runs: 'rnv runs -s nightly-report',
  env: 'rnv env -s shop',
  'env list': 'rnv env list -s shop',
  'env set': 'echo "$TOKEN" | rnv env set API_TOKEN -s shop --scope production',
  'env unset': 'rnv env unset API_TOKEN -s shop',
  'env push': 'rnv env push .env -s shop',
  'env pull': 'rnv env pull .env -s shop',
  domains: 'rnv domains -s shop',
  'domains list': 'rnv domains list -s shop',
  'domains add': 'rnv domains add shop.example.com -s shop',
  'domains verify': 'rnv domains verify shop.example.com -s shop',
  'domains remove': 'rnv domains remove shop.example.com -s shop',
  volumes: 'rnv volumes -s shop',
  'volumes list': 'rnv volumes list -s shop',
  'volumes create': 'rnv volumes create uploads --path /data --size 1 -s shop',
  'volumes resize': 'rnv volumes resize uploads --size 5 -s shop',
  'volumes delete': 'rnv volumes delete uploads -s shop',
  previews: 'rnv previews -s shop',
  'previews list': 'rnv previews list -s shop',
  'previews create': 'rnv previews create new-cart -s shop',
  'previews delete': 'rnv previews delete new-cart -s shop',
  db: 'rnv db',
  'db list': 'rnv db list --json',
  'db create': 'rnv db create postgres --name orders-db',
  'db attach': 'rnv db attach orders-db -s shop --as DATABASE_URL',
  'db backups': 'rnv db backups orders-db',
  'db backup': 'rnv db backup orders-db',
  'db restore': 'rnv db restore orders-db 4f2c1a',
};

/** Adds the example to the help of each command below this one, if there is one. */
export function addExamples(command: Command, path: readonly string[] = []): void {
  for (const child of command.commands) {
    const name = [...path, child.name()];
    const example = EXAMPLES[name.join(' ')];
    if (example !== undefined) child.addHelpText('after', `\nExample:\n  $ ${example}`);
    addExamples(child, name);
  }
}
