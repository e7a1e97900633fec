import { Link, type LinkProps } from '@tanstack/react-router';
import type { ButtonHTMLAttributes, ReactNode } from 'react';
import s from './ui.module.css';

type Look = 'primary' | 'danger' | 'quiet' | 'plain';

function classOf(look: Look, small: boolean): string {
  return [s.button, look === 'plain' ? '' : s[look], small ? s.small : ''].join(' ');
}

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  look?: Look;
  small?: boolean;
  /** True while what it started goes on. */
  pending?: boolean;
  /** Why it cannot be pressed: it stays in the order of focus and says so. */
  refusal?: string | null;
  disabled?: boolean;
}

/** A button; a refused one is shown, can be focused, and tells why it does nothing. */
export function Button({
  look = 'plain',
  small = false,
  pending = false,
  refusal = null,
  disabled = false,
  onClick,
  type = 'button',
  ...rest
}: ButtonProps) {
  const off = pending || disabled || refusal !== null;
  return (
    <button
      {...rest}
      type={off && type === 'submit' ? 'button' : type}
      className={classOf(look, small)}
      aria-disabled={off}
      aria-busy={pending || undefined}
      title={refusal ?? rest.title}
      onClick={off ? undefined : onClick}
    />
  );
}

/** A link that looks like a button. */
export function LinkButton({
  look = 'plain',
  small = false,
  children,
  ...link
}: { look?: Look; small?: boolean; children: ReactNode } & Pick<LinkProps, 'to' | 'params' | 'search'>) {
  return (
    <Link {...link} className={classOf(look, small)}>
      {children}
    </Link>
  );
}

/** A link to a page outside the console, in a tab of its own. */
export function OutLink({ href, children, look }: { href: string; children: ReactNode; look?: Look }) {
  return (
    <a href={href} target="_blank" rel="noreferrer" className={look ? classOf(look, false) : undefined}>
      {children}
    </a>
  );
}
