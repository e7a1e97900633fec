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
  pending?: boolean;
  /** Why the button is disabled. The button can still be focused, and then shows the reason. */
  refusal?: string | null;
  disabled?: boolean;
}

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

export function ButtonLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <a href={href} className={classOf('plain', false)}>
      {children}
    </a>
  );
}

export function OutLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}
