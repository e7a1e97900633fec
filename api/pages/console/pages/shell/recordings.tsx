import { useEffect, useRef, useState } from 'react';
import type { Schemas } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { FIRST_ROWS, HistoryRow, ShowOlder } from '../../ui/history.js';
import { Loaded, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import u from '../../ui/ui.module.css';
import { playRecording } from './play-recording.js';
import s from './shell.module.css';

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/recordings';

interface Path {
  workspaceId: string;
  serviceId: string;
}

/** Lists the recorded shells of a service, and plays one. */
export function Recordings({ path }: { path: Path }) {
  const [limit, setLimit] = useState(FIRST_ROWS);
  const [chosen, setChosen] = useState<string | null>(null);
  const query = useGet(PATH, { path, query: { limit } }, { keep: true });
  if (query.data?.recordings.length === 0) return null;
  return (
    <section className={u.card} aria-label="Recordings">
      <div className={u.cardHead}>
        <h2>Recordings</h2>
      </div>
      {chosen === null ? null : <Recording key={chosen} path={{ ...path, recordingId: chosen }} />}
      <Loaded query={query} skeleton={<Skeleton rows={2} height={52} />}>
        {({ recordings }) => (
          <ul>
            {recordings.map((recording) => (
              <HistoryRow
                key={recording.id}
                status={statusOf(recording)}
                title={recording.actor}
                detail={
                  <>
                    <code>{commandOf(recording)}</code>, kept until <Ago at={recording.expiresAt} />
                  </>
                }
                at={recording.startedAt}
                startedAt={recording.startedAt}
                finishedAt={recording.endedAt}
              >
                <Button small onClick={() => setChosen(recording.id)}>
                  Play
                </Button>
              </HistoryRow>
            ))}
          </ul>
        )}
      </Loaded>
      <ShowOlder hasMore={query.data?.page.hasMore === true} limit={limit} onLimit={setLimit} />
    </section>
  );
}

function statusOf({ endedAt, exitCode }: Schemas['Recording']) {
  if (endedAt === null) return { tone: 'busy', text: 'Open' } as const;
  return { tone: 'plain', text: exitCode === null ? 'Ended' : `Exit code ${exitCode}` } as const;
}

function commandOf({ command }: Schemas['Recording']): string {
  return command === null ? 'login shell' : [command].flat().join(' ');
}

/** Plays a recording, and offers it as a file. */
function Recording({ path }: { path: Path & { recordingId: string } }) {
  const place = useRef<HTMLDivElement>(null);
  const query = useGet(`${PATH}/{recordingId}`, { path });
  const text = query.data?.asciicast;
  useEffect(() => (place.current && text ? playRecording(text, place.current) : undefined), [text]);
  const save = () => {
    const url = URL.createObjectURL(new Blob([text ?? ''], { type: 'application/x-asciicast' }));
    Object.assign(document.createElement('a'), { href: url, download: `${path.recordingId}.cast` }).click();
    URL.revokeObjectURL(url);
  };
  return (
    <>
      <Loaded query={query} skeleton={<Skeleton rows={1} height={52} />}>
        {() => (
          <div className={s.tools}>
            <Button small onClick={save}>
              Download as asciicast
            </Button>
          </div>
        )}
      </Loaded>
      <section ref={place} className={s.recording} aria-label="Recording" />
    </>
  );
}
