import { Type } from 'typebox';
import { plainLine } from '../../../shared/core/plain-text.js';
import { PartialServiceConfigurationSchema } from '../../../shared/services/configuration.js';
import { FIELD_DESCRIPTIONS } from '../../../shared/services/field-descriptions.js';
import { Nullable, oneOf, Strict } from '../../http/schema.js';

const { branch, rootDirectory } = PartialServiceConfigurationSchema.properties;
const repository = plainLine(2048, {
  minLength: 1,
  description: `one line without control characters. ${FIELD_DESCRIPTIONS.repository}`,
});

export const DetectBody = Strict({ repository, branch, rootDirectory });

const DetectedApplication = Strict({
  rootDirectory: Type.String(),
  name: Nullable(Type.String()),
  framework: Nullable(Type.String()),
});

export const DetectResponse = Strict({
  detection: Strict(
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
  ),
});
