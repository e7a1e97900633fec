/** Field name → its text in examples. Other text fields are empty. */
const TEXTS: Readonly<Record<string, string>> = {
  actor: 'ada@example.com',
  address: 'wss://ranvier.example.com/api/shells/q0Zb4Vb6r8Q5H1uJt2mC9w',
  allowedDomains: 'example.com',
  author: 'ada',
  branch: 'main',
  buildCommand: 'npm run build',
  command: 'npm run migrate',
  commitMessage: 'Show prices with tax',
  commitSha: '5b0e0c1f9d3a4c5e8f7a6b5c4d3e2f1a0b9c8d7e',
  confirm: 'shop',
  csrfToken: 'q0Zb4Vb6r8Q5H1uJt2mC9w',
  currency: 'USD',
  cursor: 'AAABnBJ2W2wBnBJ2',
  database: 'shop',
  decidedBy: 'ada@example.com',
  description: 'The shop and its database',
  displayStatus: 'Live',
  email: 'ada@example.com',
  fingerprint: 'SHA256:pRdRQ3IXmFSVVTZs6PZQ3z0jFzbxeHdZz3KNs9oJ1qE',
  framework: 'nextjs',
  host: 'host-1.example.com',
  hostname: 'shop.example.com',
  id: 'group:0198c0de-0000-7000-8000-000000000001',
  installCommand: 'npm ci',
  internalHost: 'shop-1',
  invitedBy: 'ada@example.com',
  key: 'DATABASE_URL',
  lastOutcome: 'answered with 200',
  message: 'Listening on port 3000',
  mountPath: '/data',
  name: 'shop',
  nextCursor: 'AAABnBJ2W2wBnBJ2',
  operation: 'service.update',
  otpauthUri: 'otpauth://totp/Ranvier:ada%40example.com?secret=JBSWY3DPEHPK3PXP',
  packageManager: 'npm',
  password: 'correct horse battery staple',
  plan: 'starter',
  prefix: 'rnv_0198c0de',
  publicKey: 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGV4YW1wbGU',
  repository: 'https://git.example.com/shop.git',
  requestId: '0198c0de-0000-7000-8000-00000000000f',
  roleClaim: 'groups',
  runtime: 'node',
  search: 'error',
  secret: 'q0Zb4Vb6r8Q5H1uJt2mC9w',
  serviceName: 'shop',
  source: '0198c0de-0000-7000-8000-000000000001',
  startCommand: 'node server.js',
  target: '0198c0de-0000-7000-8000-000000000002',
  targetBranch: 'main',
  title: 'Show prices with tax',
  token: 'q0Zb4Vb6r8Q5H1uJt2mC9w',
  url: 'https://shop.example.com',
  user: 'shop',
  workspaceName: 'Acme',
};
const FORMATS: Readonly<Record<string, string>> = {
  uuid: '0198c0de-0000-7000-8000-000000000001',
  'date-time': '2026-01-31T12:00:00.000Z',
  email: 'ada@example.com',
  branch: 'main',
};
const NUMBERS: Readonly<Record<string, number>> = { after: 1200, before: 1200, hours: 24, limit: 50 };

interface Schema {
  type?: string;
  const?: unknown;
  default?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  prefixItems?: readonly Schema[];
  items?: Schema;
  properties?: Readonly<Record<string, Schema>>;
  patternProperties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  format?: string;
  pattern?: string;
  minimum?: number;
}

/** Returns a value that the schema accepts, with only the required fields. `name` is the field's name. */
export function exampleOf(schema: Schema, name = ''): unknown {
  if (schema.default !== undefined) return schema.default;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [first] = schema.anyOf ?? [];
  if (first) return exampleOf(first, name);
  switch (schema.type) {
    case 'object':
      return objectOf(schema);
    case 'array':
      return (schema.prefixItems ?? (schema.items ? [schema.items] : [])).map((item) => exampleOf(item, name));
    case 'integer':
    case 'number':
      return NUMBERS[name] ?? schema.minimum ?? 1;
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return textOf(schema, name);
  }
}

function objectOf({ properties = {}, patternProperties = {}, required = [] }: Schema): unknown {
  const [record] = Object.entries(patternProperties);
  if (record) return { [new RegExp(record[0]).test('node') ? 'node' : (FORMATS.uuid ?? '')]: exampleOf(record[1]) };
  return Object.fromEntries(required.map((field) => [field, exampleOf(properties[field] ?? {}, field)]));
}

/** Pattern → text that matches it. The only entry is for base64url. */
const PATTERNS: Readonly<Record<string, string>> = { '^[A-Za-z0-9_-]+$': 'AQIDBA' };

function textOf({ format = '', pattern = '' }: Schema, name: string): string {
  return FORMATS[format] ?? PATTERNS[pattern] ?? (pattern.includes('[0-9]{6}') ? '123456' : (TEXTS[name] ?? ''));
}
