import type { StackDocument } from '../../../../shared/stacks/document-schema.js';
import { labelOf } from '../../../../shared/stacks/label.js';
import { importCompose } from './import-compose.js';
import {
  type ImportContext,
  type Loose,
  type Lost,
  looseOf,
  loseKeys,
  namesIn,
  optional,
  textOf,
  textsOf,
} from './loose.js';
import { nameOf } from './service-parts.js';

const READ = namesIn(`
  service image servers proxy registry env volumes accessories builder healthcheck aliases labels logging
  retain_containers readiness_delay deploy_timeout drain_timeout ssh sshkit boot hooks_path primary_role
  allow_empty_roles minimum_version require_destination error_pages_path secrets_path asset_path stop_wait_time
  traefik run_directory output
`);
const ROLE = namesIn(`
  hosts cmd env proxy labels logging traefik asset_path
`);
const ACCESSORY = namesIn(`
  image service host hosts role roles tag tags port env volumes directories cmd labels network registry proxy
`);
const REASONS: Readonly<Record<string, string>> = {
  files: 'files of the host are not mounted: put them into the image or the repository',
  options: 'options of docker run have no counterpart',
};
/** The port at which kamal-proxy connects to an application. */
const PORT = 80;

/** Converts a Kamal deploy.yml to a document, by way of an equivalent Compose file. */
export function importKamal(value: unknown, context: ImportContext, lost: Lost): StackDocument {
  const file = looseOf(value);
  loseKeys('', file, READ, REASONS, lost);
  const name = textOf(file.service) || labelOf(textOf(file.image).split('/').at(-1) ?? '') || nameOf(context);
  const roles = rolesOf(file.servers);
  const main =
    roles.find(([role]) => role === textOf(file.primary_role)) ?? roles.find(([role]) => role === 'web') ?? roles[0];
  const build = buildOf(looseOf(file.builder), lost);
  const services = roles.map(([role, { hosts, cmd, env, proxy, ...more }]): [string, Loose] => {
    loseKeys(`servers.${role}`, more, ROLE, REASONS, lost);
    const isWeb = role === main?.[0] ? proxy !== false : looseOf(proxy).host !== undefined || proxy === true;
    const own = isWeb ? { ...looseOf(file.proxy), ...looseOf(proxy) } : {};
    const path = looseOf(own.healthcheck ?? file.healthcheck).path;
    const port = textOf(own.app_port) || textOf(looseOf(file.healthcheck).port) || PORT;
    return [
      role === main?.[0] ? name : `${name}-${role}`,
      {
        build,
        ...(isWeb ? { ports: [`${port}`] } : {}),
        ...(isWeb && textOf(path) !== '' ? { healthcheck: { test: `curl http://localhost${textOf(path)}` } } : {}),
        ...(cmd === undefined ? {} : { command: cmd }),
        deploy: { replicas: Math.max(1, textsOf(hosts).length) },
        environment: { ...environmentOf(file.env), ...environmentOf(env) },
        volumes: textsOf(file.volumes),
      },
    ];
  });
  const accessories = Object.entries(looseOf(file.accessories)).map(([key, entry]): [string, Loose] =>
    accessoryOf(`${name}-${key}`, `accessories.${key}`, looseOf(entry), lost),
  );
  const compose = { services: Object.fromEntries([...services, ...accessories]) };
  // The file is in the folder `config` of the application.
  const folder = context.folder.replace(/(^|\/)config$/, '');
  const document = importCompose(compose, { ...context, folder }, lost);
  const { host, hosts } = looseOf(file.proxy);
  const domains = textsOf([host ?? [], hosts ?? []].flat());
  const entry = document.services?.[name];
  if (entry !== undefined) Object.assign(entry, optional('domains', domains));
  return document;
}

/** Returns the roles with their settings. A role may be only a list of hosts. */
function rolesOf(servers: unknown): [string, Loose][] {
  if (Array.isArray(servers)) return [['web', { hosts: hostsOf(servers) }]];
  const roles = Object.entries(looseOf(servers)).map(([role, entry]): [string, Loose] => [
    role,
    Array.isArray(entry) ? { hosts: hostsOf(entry) } : { ...looseOf(entry), hosts: hostsOf(looseOf(entry).hosts) },
  ]);
  return roles.length === 0 ? [['web', {}]] : roles;
}

/** Returns the hosts in a list, in which a host may have tags. */
function hostsOf(hosts: unknown): string[] {
  return Array.isArray(hosts) ? hosts.flatMap((host) => textsOf(host).concat(Object.keys(looseOf(host)))) : [];
}

function buildOf(builder: Loose, lost: Lost): Loose {
  const { dockerfile, context, args, target, secrets } = builder;
  for (const [key, value] of Object.entries({ target, secrets })) {
    if (value !== undefined) lost(`builder.${key}`, 'has no counterpart');
  }
  return {
    context: textOf(context) || '.',
    ...(dockerfile === undefined ? {} : { dockerfile: textOf(dockerfile) }),
    args,
  };
}

/**
 * Returns the values in `clear`; null for variables in `secret`, whose values come from the host. Without `clear` and
 * `secret`, the values are directly in `env`.
 */
function environmentOf(env: unknown): Record<string, unknown> {
  const { clear, secret, tags: _tags, ...plain } = looseOf(env);
  const secrets = textsOf(secret).map((key): [string, null] => [key.split(':')[0] ?? key, null]);
  return { ...(clear === undefined && secret === undefined ? plain : looseOf(clear)), ...Object.fromEntries(secrets) };
}

function accessoryOf(name: string, at: string, accessory: Loose, lost: Lost): [string, Loose] {
  loseKeys(at, accessory, ACCESSORY, REASONS, lost);
  const { image, service, port, env, volumes, directories, cmd } = accessory;
  return [
    textOf(service) || name,
    {
      image,
      ...(cmd === undefined ? {} : { command: cmd }),
      ...(textOf(port) === '' ? {} : { ports: [textOf(port)] }),
      environment: environmentOf(env),
      volumes: [...textsOf(volumes), ...textsOf(directories)],
    },
  ];
}
