import type { Static } from 'typebox';
import type { Detection } from '../../../shared/detections/model.js';
import type { DetectResponse } from './schema.js';

export function presentDetection(detection: Detection): Static<typeof DetectResponse>['detection'] {
  return {
    branch: detection.branch,
    commitSha: detection.commitSha,
    framework: detection.framework,
    runtime: detection.runtime,
    kind: detection.kind,
    packageManager: detection.packageManager,
    versions: detection.versions,
    installCommand: detection.installCommand,
    buildCommand: detection.buildCommand,
    startCommand: detection.startCommand,
    publishDirectory: detection.publishDirectory,
    applications: detection.applications.map(({ rootDirectory, name, framework }) => ({
      rootDirectory,
      name,
      framework,
    })),
  };
}
