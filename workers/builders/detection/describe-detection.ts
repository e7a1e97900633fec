import type { Detection } from '../../../shared/detections/model.js';
import { DEFAULT_CONFIGURATION } from '../../../shared/services/configuration.js';
import type { BuildCapabilities, BuildPlan } from '../plan/plan-model.js';
import { type DetectInput, detectAndPlan, SeveralApplicationsError } from './detect-project.js';

type Described = Omit<Detection, 'branch' | 'commitSha'>;

/** Describes what a service with default settings would deploy from this folder. Throws `BuildError`. */
export async function describeDetection({
  containers,
  ...place
}: Pick<DetectInput, 'app' | 'rootDirectory'> & BuildCapabilities): Promise<Described> {
  try {
    const wanted = { ...place, kind: 'web', settings: DEFAULT_CONFIGURATION } as const;
    const { plan, applications } = await detectAndPlan(wanted, { containers });
    return { ...described(plan), applications };
  } catch (error) {
    if (!(error instanceof SeveralApplicationsError)) throw error;
    return { ...NOTHING, applications: [...error.applications] };
  }
}

/** The result for a repository with several applications, none of them clearly the main one. */
const NOTHING: Omit<Described, 'applications'> = {
  framework: null,
  runtime: 'auto',
  kind: 'web',
  packageManager: null,
  versions: {},
  installCommand: '',
  buildCommand: '',
  startCommand: '',
  publishDirectory: '',
};

function described(plan: BuildPlan): Omit<Described, 'applications'> {
  const { framework, install, build, type, runtime, startCommand, publish, versions } = plan;
  return {
    framework: framework?.name ?? null,
    runtime,
    kind: type === 'static' ? 'static' : 'web',
    packageManager: /^(npm|pnpm|yarn|bun)\b/.exec(install[0] ?? '')?.[1] ?? null,
    versions: {
      ...(framework?.version == null ? {} : { [framework.id]: framework.version }),
      ...(versions.node === null ? {} : { node: versions.node.range }),
      ...(versions.manager?.wish == null ? {} : { [versions.manager.name]: versions.manager.wish.range }),
    },
    installCommand: install.join(' && '),
    buildCommand: build.join(' && '),
    startCommand,
    publishDirectory:
      type === 'static'
        ? (publish?.folders[0] ?? (build.length > 0 ? DEFAULT_CONFIGURATION.publishDirectory : '.'))
        : '',
  };
}
