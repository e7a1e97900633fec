import { Type } from 'typebox';
import { DEFAULT_CONFIGURATION, PartialServiceConfigurationSchema } from '../../../shared/services/configuration.js';
import { pick } from '../../http/present.js';
import { defineRoute } from '../../http/route.js';
import { Nullable, oneOf, Strict } from '../../http/schema.js';
import { RepositoryAddress } from '../template-sources/schema.js';
import { askForDetection, detectionOf } from './commands.js';

const { branch, rootDirectory } = PartialServiceConfigurationSchema.properties;
const DetectBody = Strict({ repository: RepositoryAddress, branch, rootDirectory });

const DetectedApplication = Strict({
  rootDirectory: Type.String(),
  name: Nullable(Type.String()),
  framework: Nullable(Type.String()),
});

const DetectionSchema = Strict(
  {
    branch: Type.String(),
    commitSha: Type.String(),
    framework: Nullable(Type.String()),
    runtime: Type.String(),
    kind: oneOf('DetectedKind', ['web', 'static']),
    packageManager: Nullable(Type.String()),
    versions: Type.Record(Type.String(), Type.String()),
    installCommand: Type.String(),
    buildCommand: Type.String(),
    startCommand: Type.String(),
    publishDirectory: Type.String(),
    applications: Type.Array(DetectedApplication),
  },
  'Detection',
);

/** How long a request waits for the worker that reads the repository, in milliseconds. The API itself never clones. */
const WAIT_MS = 30_000;

export const detectionRoutes = [
  defineRoute('POST', '/workspaces/:workspaceId/detect', 'detection.create', {
    summary: 'Inspect a repository',
    description:
      'Detects what a deployment of the repository would build and run, without deploying it. A worker reads the repository, which takes up to 30 seconds.',
    errors: ['source_invalid', 'capacity_exceeded'],
    keyed: false,
    body: DetectBody,
    response: Strict({ detection: DetectionSchema }),
    engine: true,
    handler: async ({ deps, trx, params, body, needEngine }) => {
      needEngine();
      const id = await askForDetection(trx, deps, {
        workspaceId: params.workspaceId,
        repository: body.repository,
        branch: body.branch ?? DEFAULT_CONFIGURATION.branch,
        rootDirectory: body.rootDirectory ?? '',
      });
      return { pending: id };
    },
    complete: async (id, { db }) => ({ detection: pick(DetectionSchema, await detectionOf(db, id, WAIT_MS)) }),
  }),
];
