import { useEffect, useRef, useState } from 'react';
import type { Schemas } from '../../api/types.js';
import { useGet } from '../../api/use-api.js';
import { Button } from '../../ui/button.js';
import { Card, Items } from '../../ui/card.js';
import { FIRST_ROWS, HistoryRow, ShowOlder } from '../../ui/history.js';
import { Loaded, Skeleton } from '../../ui/states.js';
import { Ago } from '../../ui/time.js';
import { useServicePath } from '../services/service-shell.js';
import { playRecording } from './play-recording.js';
import s from './shell.module.css';

const PATH = '/workspaces/{workspaceId}/services/{serviceId}/recordings';

export function Recordings() {
  const path = useServicePath();
  const [limit, setLimit] = useState(FIRST_ROWS);
  const [chosen, setChosen] = useState<string | null>(null);
  const query = useGet(PATH, { path, query: { limit } }, { keep: true });
  if (query.data?.recordings.length === 0) return null;
  return (
    <Card title="Recordings" label="Recordings">
      {chosen === null ? null : <Recording key={chosen} recordingId={chosen} />}
      <Loaded query={query} skeleton={<Skeleton rows={2} height={52} />}>
        {({ recordings }) => (
          <Items items={recordings}>
            {(recording) => (
              <HistoryRow
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
            )}
          </Items>
        )}
      </Loaded>
      <ShowOlder hasMore={query.data?.page.hasMore === true} limit={limit} onLimit={setLimit} />
    </Card>
  );
}

function statusOf({ endedAt, exitCode }: Schemas['Recording']) {
  if (endedAt === null) return { tone: 'busy', text: 'Open' } as const;
  return { tone: 'plain', text: exitCode === null ? 'Ended' : `Exit code ${exitCode}` } as const;
}

function commandOf({ command }: Schemas['Recording']): string {
  return command === null ? 'login shell' : [command].flat().join(' ');
}

function Recording({ recordingId }: { recordingId: string }) {
  const path = { ...useServicePath(), recordingId };
  const place = useRef<HTMLDivElement>(null);
  const query = useGet(`${PATH}/{recordingId}`, { path });
  const text = query.data?.asciicast;
  useEffect(() => (place.current && text ? playRecording(text, place.current) : undefined), [text]);
  const save = () => {
    const url = URL.createObjectURL(new Blob([text ?? ''], { type: 'application/x-asciicast' }));
    Object.assign(document.createElement('a'), { href: url, download: `${recordingId}.cast` }).click();
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
