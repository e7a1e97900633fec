import { posix } from 'node:path';
import { isRouted, type ServiceKind } from '../../../shared/services/model.js';
import { quoteIfNeeded } from '../../core/quote.js';
import type { Start } from '../detection/application.js';
import { hasServer } from '../detection/choose-framework.js';
import type { DetectedProject } from '../detection/detected-project.js';
import { decideNode, type NodeDecision, previewScript } from '../detection/node-application.js';
import { otherManagers } from '../detection/node-build.js';
import { unneededPackages, workspaceBuild } from '../detection/workspace.js';
import { readManifest } from '../files/package-manifest.js';
import { EMPTY_PLAN, type LanguagePlan } from '../languages/language.js';
import { directStart, node } from '../languages/node.js';
import type { BuildPlan, Settings } from './plan-model.js';
import { assertRouted, noStart, procfileCommand, shared } from './plan-parts.js';

/** Plans a project with a package.json, or one whose `runtime` is Node.js. Throws `BuildError`. */
export function planNode(project: DetectedProject, kind: ServiceKind, settings: Settings): BuildPlan {
  const { files, workspace, platforms } = project;
  const app = project.app ?? { files, manifest: readManifest('{}'), framework: null, nx: null };
  const plan = workspace === null ? node.plan(files) : node.plan(workspace.files, files);
  const run = `${plan.manager} run`;
  const site = kind === 'static' || settings.buildMethod === 'static' || settings.runtime === 'static';
  const decision = decideNode({
    app,
    kind: site ? 'static' : kind,
    settings,
    platforms,
    procfile: procfileCommand(files, kind),
    run,
    shared: workspace?.manifest.dependencies ?? {},
    node: plan.versions.node?.range ?? null,
  });
  const given = settings.startCommand.trim();
  const starts = site ? [] : given !== '' ? [{ command: given, needs: null }] : decision.starts;
  if (starts.length === 0 && !site) addPreview(starts, decision, project, run);
  const isOpen = starts.length === 0;
  const hasPages = project.pages.length > 0;
  const mayPublish = decision.build !== null && !(hasServer(app) && decision.publish.length === 0);
  if (isOpen && !site && !(isRouted(kind) && (hasPages || mayPublish))) throw noStart(plan, kind, decision.notes);
  if (isOpen) assertRouted(kind);
  const base = isOpen && decision.build === null ? EMPTY_PLAN : plan;
  const steps = nodeSteps(project, decision, settings, run);
  const below = posix.relative(steps.folders.build, steps.folders.project);
  const also = otherManagers(app, [...steps.build, ...starts.map(({ command }) => command)], plan.manager);
  return {
    ...shared(base),
    ...steps,
    versions: also.length === 0 || base === EMPTY_PLAN ? base.versions : { ...base.versions, also },
    type: isOpen ? 'static' : 'process',
    runtime: isOpen ? 'static' : 'node',
    searchPath: base === EMPTY_PLAN ? [] : searchPathOf(project, plan),
    keptFolders: base.keptFolders.map((kept) => posix.join(below, kept)),
    environment: { ...base.environment, ...decision.environment },
    buildEnvironment: { ...base.buildEnvironment, ...decision.buildEnvironment },
    unneeded: workspace === null ? [] : unneededPackages(workspace, project.folder),
    manifests: workspace === null ? base.manifests : null,
    startCommand: starts[0]?.command ?? '',
    starts: starts.map((start) => ({ ...start, direct: directStart([files, workspace?.files], start.command) })),
    publish: isRouted(kind)
      ? { folders: decision.publish, singlePage: decision.singlePage, pages: project.pages }
      : null,
    framework: decision.framework,
    explanation: [...project.notes, ...decision.notes],
  };
}

/** Adds the start of a preview server, which serves the output of a build, unless that output can be published. */
function addPreview(starts: Start[], { build, publish }: NodeDecision, { app }: DetectedProject, run: string): void {
  const script = app === null || build === null || publish.length > 0 ? null : previewScript(app);
  if (script !== null) starts.push({ command: `${run} ${script}`, needs: null, isPreview: true });
}

function nodeSteps(
  { folder, workspace }: DetectedProject,
  { build, prepare }: NodeDecision,
  { buildCommand }: Settings,
  run: string,
): Pick<BuildPlan, 'build' | 'folders'> {
  const root = workspace?.folder ?? folder;
  const isMember = workspace !== null && workspace.folder !== folder;
  if (!isMember || buildCommand.trim() !== '') {
    return {
      build: [...prepare, ...(build === null ? [] : [build])],
      folders: { install: root, build: folder, project: folder },
    };
  }
  const within = posix.relative(workspace.folder, folder);
  return {
    build: [
      ...prepare.map((command) => `cd ${quoteIfNeeded(within)} && ${command}`),
      ...workspaceBuild(workspace, folder, build, run),
    ],
    folders: { install: root, build: root, project: folder },
  };
}

/** Returns the folders of programs, relative to the project and to the workspace's root: commands run in both. */
function searchPathOf({ folder, workspace }: DetectedProject, { searchPath }: LanguagePlan): string[] {
  if (workspace === null || workspace.folder === folder) return searchPath;
  const below = posix.relative(workspace.folder, folder);
  const above = posix.relative(folder, workspace.folder);
  return searchPath.flatMap((path) => [path, `${above}/${path}`, `${below}/${path}`]);
}
