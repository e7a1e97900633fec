/** Shell lines that set the port for frameworks that do not read PORT. The service's own variables take precedence. */
export const LISTEN = `export SERVER_PORT="\${SERVER_PORT:-$PORT}" QUARKUS_HTTP_PORT="\${QUARKUS_HTTP_PORT:-$PORT}"
export QUARKUS_HTTP_HOST="\${QUARKUS_HTTP_HOST:-0.0.0.0}" MICRONAUT_SERVER_PORT="\${MICRONAUT_SERVER_PORT:-$PORT}"
`;

/** A shell script that starts the jar of Quarkus, otherwise the only jar, otherwise the first with a main class. */
export const JAR_PROGRAM = `for jar in target/quarkus-app/quarkus-run.jar build/quarkus-app/quarkus-run.jar */target/quarkus-app/quarkus-run.jar */build/quarkus-app/quarkus-run.jar; do
  [ ! -f "$jar" ] || exec java -jar "$jar"
done
set --
for jar in target/*-runner.jar target/*.jar target/*.war build/libs/*.jar build/libs/*.war */target/*.jar */build/libs/*.jar; do
  case "$jar" in *-sources.jar|*-javadoc.jar|*-plain.?ar|*-tests.jar|*/original-*) continue ;; esac
  [ ! -f "$jar" ] || set -- "$@" "$jar"
done
if [ $# -gt 1 ]; then
  place=$(mktemp -d) here=$PWD
  for jar in "$@"; do
    (cd "$place" && rm -rf META-INF && jar xf "$here/$jar" META-INF/MANIFEST.MF && grep -q '^Main-Class:' META-INF/MANIFEST.MF) || continue
    echo "Starts $jar, the first jar with a main class; set startCommand to start another one" >&2
    exec java -jar "$jar"
  done
fi
[ $# -gt 0 ] || { echo 'The build has made no jar in target, build/libs or a folder below: set startCommand to what starts the application' >&2; exit 1; }
exec java -jar "$1"`;

/** A shell script that runs the start script that Gradle's task `installDist` has generated. */
export const SCRIPT_PROGRAM = `for script in build/install/*/bin/* app/build/install/*/bin/* */build/install/*/bin/*; do
  case "$script" in *.bat) continue ;; esac
  [ ! -f "$script" ] || exec sh "./$script"
done
echo 'The build has made no program in build/install: set startCommand to what starts the application' >&2
exit 1`;
