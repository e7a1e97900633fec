/** Paths that a PHP project's web server refuses. nginx, Caddy and PHP all accept this regular expression. */
const HIDDEN = '/\\.([^w]|w[^e]|w?$)|^/vendor/.*\\.php$|^/(composer\\.(json|lock|phar)|auth\\.json)$';

/**
 * Returns a shell script that serves a PHP project from `root` on PORT. It runs php-fpm behind nginx or Caddy if the
 * host has them, otherwise PHP's built-in server. On SIGTERM, it completes the requests in progress.
 */
export function phpServer(root: string): string {
  return `root="$PWD${root === '.' ? '' : `/${root}`}"\n${PROGRAM}`;
}

const PROGRAM = String.raw`hidden='${HIDDEN}'
cd "$TMPDIR" && version=$(php -n -r 'echo PHP_MAJOR_VERSION, ".", PHP_MINOR_VERSION;') || exit 1
fpm=$(command -v "php-fpm$version" || command -v "$(dirname "$(readlink -f "$(command -v php)")")/../sbin/php-fpm")
web=$(command -v nginx || command -v caddy)
socket="$TMPDIR/php-fpm.sock"
front=; [ ! -e "$root/index.php" ] || front=/index.php

# The path of a Unix socket has at most 107 bytes, and php-fpm does not run as root.
if [ -z "$fpm" ] || [ -z "$web" ] || [ "$(id -u)" = 0 ] || [ "$(printf %s "$socket" | wc -c)" -gt 100 ]; then
  cat >router.php <<END
<?php
\$path = urldecode(parse_url(\$_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/');
if (preg_match('#$hidden#', \$path)) { http_response_code(404); return true; }
\$file = rtrim('$root' . \$path, '/');
if ('$front' === '' || is_file(\$file) || is_file("\$file/index.php") || is_file("\$file/index.html")) return false;
chdir('$root');
\$_SERVER['SCRIPT_NAME'] = \$_SERVER['PHP_SELF'] = '/index.php';
\$_SERVER['SCRIPT_FILENAME'] = '$root/index.php';
unset(\$path, \$file);
require '$root/index.php';
END
  echo "PHP's own server serves $root. If the host has php$version-fpm and nginx, they do it instead." >&2
  export PHP_CLI_SERVER_WORKERS="$([ -n "$WEB_CONCURRENCY" ] && echo "$WEB_CONCURRENCY" || echo 4)"
  cd "$root" && exec php -q -d error_log=/dev/stderr -d session.save_path="$TMPDIR" -S "0.0.0.0:$PORT" -t "$root" "$TMPDIR/router.php"
fi

# As many processes as the memory of the plan has room for.
children=$WEB_CONCURRENCY
if [ -z "$children" ]; then
  own=$(sed -n 's/^0:://p' /proc/self/cgroup)
  old=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
  for file in "$own/memory.max" /memory.max "/memory$old/memory.limit_in_bytes" /memory/memory.limit_in_bytes; do
    bytes=$(cat "/sys/fs/cgroup$file" 2>/dev/null)
    # A group without a limit has a word or a very large number.
    case $bytes in '' | *[!0-9]* | ?????????????????*) continue ;; esac
    children=$((bytes / 41943040)); break
  done
  [ -n "$children" ] && [ "$children" -le 32 ] || children=32
  [ "$children" -ge 2 ] || children=2
fi
cat >php-fpm.conf <<END
[global]
pid = $TMPDIR/php-fpm.pid
error_log = $TMPDIR/php-fpm.log
log_level = warning
log_limit = 8192
process_control_timeout = 25s
[www]
listen = $socket
pm = ondemand
pm.max_children = $children
pm.process_idle_timeout = 60s
pm.max_requests = 1000
clear_env = no
catch_workers_output = yes
decorate_workers_output = no
php_admin_value[fastcgi.logging] = 0
php_admin_value[log_errors] = 1
php_value[session.save_path] = $TMPDIR
END

case $web in
  *nginx)
    fallback="$front\$is_args\$args"; [ -n "$front" ] || fallback='=404'
    cat >web.conf <<END
daemon off; worker_processes 1; pid $TMPDIR/web.pid; error_log stderr crit;
events { worker_connections 1024; }
http {
  include /etc/nginx/mime.types; default_type application/octet-stream; sendfile on; access_log off; server_tokens off;
  client_max_body_size 0; absolute_redirect off;
  client_body_temp_path body; fastcgi_temp_path fastcgi; proxy_temp_path proxy; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  map \$http_x_forwarded_proto \$is_https { https on; default ''; }
  server {
    listen 0.0.0.0:$PORT; root "$root"; index index.php index.html;
    location ~ "$hidden" { return 404; }
    location / { try_files \$uri \$uri/ $fallback; }
    location ~ \.php(/|\$) {
      fastcgi_split_path_info ^(.+?\.php)(/.*)?\$;
      # try_files empties the variable.
      set \$rest \$fastcgi_path_info;
      try_files \$fastcgi_script_name $fallback;
      include /etc/nginx/fastcgi_params;
      fastcgi_param SCRIPT_FILENAME \$document_root\$fastcgi_script_name;
      fastcgi_param PATH_INFO \$rest;
      fastcgi_param HTTPS \$is_https if_not_empty;
      fastcgi_param HTTP_PROXY '';
      fastcgi_buffer_size 32k; fastcgi_buffers 16 16k; fastcgi_read_timeout 600s;
      fastcgi_pass unix:$socket;
    }
  }
}
END
    ends=QUIT; set -- "$web" -e stderr -p "$TMPDIR" -c "$TMPDIR/web.conf" ;;
  *)
    cat >web.conf <<END
{
	admin off
	auto_https off
	storage file_system $TMPDIR/caddy
	log {
		level ERROR
	}
}
http://:$PORT {
	root * "$root"
	@hidden path_regexp "$hidden"
	respond @hidden 404
	@https header X-Forwarded-Proto https
	php_fastcgi @https unix/$socket {
		env HTTPS on
		trusted_proxies private_ranges
	}
	php_fastcgi unix/$socket {
		trusted_proxies private_ranges
	}
	file_server
}
END
    ends=TERM; set -- "$web" run --config "$TMPDIR/web.conf" --adapter caddyfile --pidfile "$TMPDIR/web.pid" ;;
esac

mkfifo ended && exec 3<>ended || exit 1
# In a session of its own, so that TERM comes to this shell alone, and the web server ends before php-fpm does.
serve() { trap : TERM INT; setsid "$@" 3>&-; basename "$1" >&3; }
stop() { kill -s "$1" "$(cat "$TMPDIR/$2.pid" 2>/dev/null)" 2>/dev/null; }
trap 'stopping=1; stop $ends web || exit 143' TERM INT
serve "$fpm" --nodaemonize --force-stderr --fpm-config "$TMPDIR/php-fpm.conf" &
until [ -S "$socket" ] || ! kill -0 "$!" 2>/dev/null; do sleep 0.005; done
serve "$@" &
echo "php-fpm $version behind $(basename "$web") serves $root with up to $children processes" >&2
until read -r first <&3; do :; done
stop $ends web; stop QUIT php-fpm
wait; wait
[ -n "$stopping" ] || { echo "$first has ended, and the application with it" >&2; exit 1; }`;
