import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { onColoursChange } from '../../ui/theme.js';
import m from './metrics.module.css';

export interface Line {
  name: string;
  /** The CSS variable with the line's colour. */
  colour: string;
  dash?: number[];
}

const HEIGHT = 156;
/** The distances between ticks that an axis with whole numbers may have. */
const WHOLE_STEPS = [1, 2, 5]
  .flatMap((step) => Array.from({ length: 9 }, (_, power) => step * 10 ** power))
  .sort((a, b) => a - b);
const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short' });

/** A line chart over time. Screen readers get `summary` instead. */
export function Chart({
  title,
  summary,
  times,
  lines,
  values,
  format,
  whole,
  hours,
}: {
  title: string;
  summary: string;
  /** Seconds since 1970. */
  times: readonly number[];
  lines: readonly Line[];
  values: readonly (readonly (number | null)[])[];
  format: (value: number) => string;
  /** True if values are counts. The axis then has ticks only at whole numbers. */
  whole: boolean;
  /** Hours that the time axis covers, even where data is missing. */
  hours: number;
}) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const data = useRef<UPlot.AlignedData>([[]]);
  data.current = [times as number[], ...(values as (number | null)[][])];

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const draw = () => {
      plot.current?.destroy();
      const axis = {
        stroke: () => resolved(element, '--dim'),
        grid: { stroke: () => resolved(element, '--line'), width: 1 },
        ticks: { show: false },
        font: '12px system-ui, sans-serif',
      };
      plot.current = new UPlot(
        {
          width: element.clientWidth,
          height: HEIGHT,
          legend: { show: false },
          cursor: { points: { size: 6 }, drag: { x: false, y: false } },
          scales: {
            x: { range: () => [Date.now() / 1000 - hours * 3600, Date.now() / 1000] },
            y: { range: (_, __, most) => [0, Math.max(most * 1.15, 1)] },
          },
          axes: [
            { ...axis, values: (_, splits) => splits.map((at) => CLOCK.format(at * 1000)) },
            {
              ...axis,
              size: 64,
              values: (_, splits) => splits.map((value) => format(value)),
              ...(whole ? { incrs: WHOLE_STEPS } : {}),
            },
          ],
          series: [
            {},
            ...lines.map(({ name, colour: variable, dash }) => ({
              label: name,
              stroke: resolved(element, variable),
              width: 1.6,
              // A point without neighbours is drawn as a dot, because a line through it alone is invisible.
              points: { show: false, size: 4, filter: (plot: UPlot, index: number) => lonePoints(plot.data[index]) },
              ...(dash ? { dash } : {}),
            })),
          ],
        },
        data.current,
        element,
      );
    };
    draw();
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    const endColours = onColoursChange(draw);
    return () => {
      resized.disconnect();
      endColours();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [lines, whole, hours]);

  useEffect(() => {
    plot.current?.setData([times as number[], ...(values as (number | null)[][])]);
  }, [times, values]);

  return (
    <figure className={m.chart}>
      <figcaption className={m.caption}>
        <h2>{title}</h2>
        <span className={m.legend}>{summary}</span>
      </figcaption>
      <div ref={place} role="img" aria-label={`${title}: ${summary}`} style={{ height: HEIGHT }} />
    </figure>
  );
}

function lonePoints(values: UPlot.TypedArray | readonly (number | null | undefined)[] = []): number[] {
  const has = (index: number) => (values[index] ?? null) !== null;
  return Array.from(values, (_, index) => index).filter((at) => has(at) && !has(at - 1) && !has(at + 1));
}

/** Returns the current colour of a CSS variable. Browsers resolve `light-dark()` only in a colour property. */
function resolved(element: HTMLElement, variable: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
