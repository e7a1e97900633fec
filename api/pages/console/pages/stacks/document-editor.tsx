import { useId, useRef } from 'react';
import u from '../../ui/ui.module.css';
import { type Fault, numbersOf, offsetOf } from './plan-text.js';
import t from './stacks.module.css';

/** Height of a line of the text, in pixels. The style sheet sets the same height. */
const LINE_PX = 19;
/** After a click on a fault, the text is scrolled so that about this many lines above the fault are visible. */
const LINES_ABOVE = 4;

/** A text area with line numbers. Faults are listed beside it, and a click on a fault selects its place in the text. */
export function DocumentEditor({
  label,
  value,
  faults,
  placeholder,
  onChange,
}: {
  label: string;
  value: string;
  faults: readonly Fault[];
  placeholder: string;
  onChange: (value: string) => void;
}) {
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const numbers = useRef<HTMLPreElement>(null);
  const follow = () => {
    if (area.current && numbers.current) numbers.current.style.top = `${-area.current.scrollTop}px`;
  };
  const goTo = (fault: Fault) => {
    const start = offsetOf(value, fault);
    const end = value.indexOf('\n', start);
    if (area.current === null) return;
    area.current.focus();
    area.current.setSelectionRange(start, end < 0 ? value.length : end);
    area.current.scrollTop = (fault.line - LINES_ABOVE) * LINE_PX;
  };
  return (
    <div className={u.field}>
      <label className={u.label} htmlFor={id}>
        {label}
      </label>
      <div className={`${t.write} ${faults.length === 0 ? '' : t.beside}`}>
        <div className={t.editor}>
          <div className={t.gutter} aria-hidden="true">
            <pre ref={numbers}>
              {numbersOf(value, faults).map(({ text, isMarked }) =>
                isMarked ? <mark key={text}>{text}</mark> : <span key={text}>{text}</span>,
              )}
            </pre>
          </div>
          <textarea
            id={id}
            ref={area}
            value={value}
            wrap="off"
            autoComplete="off"
            autoCapitalize="off"
            spellCheck={false}
            placeholder={placeholder}
            aria-invalid={faults.length > 0 || undefined}
            aria-describedby={faults.length > 0 ? `${id}-faults` : undefined}
            onScroll={follow}
            onChange={(event) => onChange(event.target.value)}
          />
        </div>
        {faults.length === 0 ? null : (
          <div role="alert" id={`${id}-faults`}>
            <ul className={t.faults} aria-label="Faults of the document">
              {faults.map((fault) => (
                <li key={`${fault.line} ${fault.column} ${fault.text}`}>
                  <button type="button" className={t.fault} onClick={() => goTo(fault)}>
                    <strong>
                      Line {fault.line}, column {fault.column}
                    </strong>
                    {fault.text}
                  </button>
                </li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </div>
  );
}
