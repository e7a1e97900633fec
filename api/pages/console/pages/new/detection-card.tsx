import type { ApiError } from '../../api/api-client.js';
import type { Detection } from '../../api/types.js';
import { Button } from '../../ui/button.js';
import { ErrorNotice } from '../../ui/states.js';
import { Glyph } from '../../ui/status.js';
import u from '../../ui/ui.module.css';
import { shortSha } from '../deployments/deployment-text.js';
import n from './new.module.css';

/** Shows what was detected in the repository. Its height is fixed, so that the page does not jump. */
export function DetectionCard({
  detection,
  detecting,
  error,
  retry,
  address,
  rootDirectory,
  onApplication,
}: {
  detection: Detection | null;
  detecting: boolean;
  error: ApiError | null;
  retry: () => void;
  address: string;
  rootDirectory: string;
  onApplication: (rootDirectory: string) => void;
}) {
  if (error) return <ErrorNotice title="The repository could not be read" error={error} retry={retry} />;
  if (!detection) {
    return (
      <div className={`${u.card} ${n.detection} ${u.dim}`} role="status">
        {detecting ? (
          <span className={u.status}>
            <Glyph tone="busy" /> Reading the repository…
          </span>
        ) : address === '' ? (
          'Enter a repository URL to see how it will be built.'
        ) : (
          'Enter the complete URL.'
        )}
      </div>
    );
  }
  const versions = Object.entries(detection.versions).map(([tool, version]) => `${tool} ${version}`);
  const facts: [string, string][] = [
    [
      detection.framework === null ? 'Language' : 'Framework',
      [
        detection.framework ?? (detection.runtime === 'auto' ? 'not detected' : detection.runtime),
        detection.kind === 'static' ? 'static site' : 'web service',
      ].join(', '),
    ],
    [
      'Tools',
      [...versions, ...(versions.length === 0 && detection.packageManager ? [detection.packageManager] : [])].join(
        ', ',
      ),
    ],
    ['Install command', detection.installCommand],
    ['Build command', detection.buildCommand],
    ...(detection.kind === 'static'
      ? ([['Publish directory', detection.publishDirectory]] as [string, string][])
      : ([['Start command', detection.startCommand]] as [string, string][])),
  ];
  return (
    <div className={`${u.card} ${n.detection}`}>
      <div className={u.row}>
        <span className={`${u.status} ${u.good}`}>
          <Glyph tone="good" /> Detected at commit {shortSha(detection.commitSha)}
        </span>
      </div>
      <dl className={n.facts}>
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value], index) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{index < 2 ? value : <code>{value}</code>}</dd>
            </div>
          ))}
      </dl>
      {detection.applications.length > 1 ? (
        <div className={u.stack} style={{ gap: 6 }}>
          <h2>Which application should be deployed?</h2>
          <div className={u.actions}>
            {detection.applications.map((application) => (
              <Button
                key={application.rootDirectory}
                small
                look={application.rootDirectory === rootDirectory ? 'primary' : 'plain'}
                aria-pressed={application.rootDirectory === rootDirectory}
                onClick={() => onApplication(application.rootDirectory)}
              >
                {application.rootDirectory || '.'}
                {application.framework ? ` · ${application.framework}` : ''}
              </Button>
            ))}
          </div>
        </div>
      ) : null}
    </div>
  );
}
