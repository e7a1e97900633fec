import type { ProjectFiles } from '../project-files.js';
import { languageWish, type NamedVersion, versionFile, versionIn } from '../toolchains/language-wish.js';
import { program } from '../toolchains/tool.js';
import type { Language, LanguagePlan } from './language.js';

const GRADLE = ['build.gradle', 'build.gradle.kts'];
const CLASSES = '.ranvier/classes';
const JAR = '.ranvier/app.jar';

/** Java and Kotlin: Maven, Gradle, or sources alone. */
export const java: Language = {
  runtime: 'java',
  marks: ['pom.xml', ...GRADLE, 'Main.java'],
  reads: ['pom.xml', ...GRADLE, '.java-version', 'system.properties'],
  matches: (files) => ['pom.xml', ...GRADLE, 'gradlew', 'Main.java'].some(files.has),
  leads: (files) => ['pom.xml', ...GRADLE].some(files.has),
  plan(files): LanguagePlan {
    const tool = buildTool(files);
    return {
      tools: [program('javac', 'install a JDK (Debian: apt-get install default-jdk-headless)'), ...tool.tools],
      versions: { node: null, manager: null, languages: [languageWish(files, 'java', versionsOf(files))] },
      install: [],
      manifests: null,
      dependencies: null,
      build: tool.build,
      start: tool.start,
      manager: '',
      startAdvice: 'let the build make a jar that can be started with "java -jar"',
      searchPath: [],
      // A third of the memory is the virtual machine's own.
      environment: { JDK_JAVA_OPTIONS: '-XX:MaxRAMPercentage=65' },
      buildEnvironment: {},
      caches: { GRADLE_USER_HOME: 'gradle', RANVIER_MAVEN: 'maven' },
      keptFolders: [],
    };
  },
};

interface BuildTool {
  tools: ReturnType<typeof program>[];
  build: string[];
  start: string | null;
}

function buildTool(files: ProjectFiles): BuildTool {
  const start = `java -jar ${JAR}`;
  if (files.has('pom.xml')) {
    const maven = files.has('mvnw') ? 'sh ./mvnw' : 'mvn';
    const tools = files.has('mvnw') ? [] : [program('mvn', 'install Maven (Debian: apt-get install maven)')];
    const command = `${maven} -B -ntp -DskipTests -Dmaven.repo.local="$RANVIER_MAVEN" package`;
    return { tools, build: [command, keepJar('target')], start };
  }
  if (files.has('Main.java')) {
    return {
      tools: [],
      build: [`mkdir -p ${CLASSES} && javac -d ${CLASSES} *.java`],
      start: `java -cp ${CLASSES} Main`,
    };
  }
  const gradle = files.has('gradlew') ? 'sh ./gradlew' : 'gradle';
  const tools = files.has('gradlew')
    ? []
    : [program('gradle', 'install Gradle, or keep its wrapper in the repository')];
  const text = GRADLE.map((name) => files.text(name) ?? '').join('\n');
  const task = text.includes('org.springframework.boot') ? 'bootJar' : /shadow/i.test(text) ? 'shadowJar' : 'build';
  return { tools, build: [`${gradle} --no-daemon --console=plain ${task} -x test`, keepJar('build/libs')], start };
}

/** The jar that has a main class, under a name that does not change. Quarkus makes a folder of them. */
function keepJar(folder: string): string {
  return [
    `mkdir -p .ranvier`,
    `if [ -e ${folder}/quarkus-app/quarkus-run.jar ]; then ln -sf ../${folder}/quarkus-app/quarkus-run.jar ${JAR}; else`,
    `for jar in ${folder}/*.jar; do`,
    `case "$jar" in *-sources.jar | *-javadoc.jar | *-plain.jar | *-tests.jar | */original-*) continue ;; esac`,
    `if unzip -p "$jar" META-INF/MANIFEST.MF 2>/dev/null | grep -q '^Main-Class:'; then cp "$jar" ${JAR}; break; fi`,
    `done; fi`,
    `[ -e ${JAR} ] || { echo 'No jar with a Main-Class was built: let the build make one (Spring Boot, the shade or the jar plugin), or set startCommand' >&2; exit 1; }`,
  ].join('\n');
}

function versionsOf(files: ProjectFiles): (NamedVersion | null)[] {
  const pom = versionIn(
    files,
    'pom.xml',
    /<(?:maven\.compiler\.release|maven\.compiler\.source|java\.version)>\s*(\d{1,2})\s*</,
  );
  const gradle = GRADLE.map((name) => versionIn(files, name, /languageVersion[^\n]{0,60}?\b(\d{1,2})\b/)).find(
    (found) => found !== null,
  );
  return [
    versionFile(files, '.java-version'),
    versionIn(files, 'system.properties', /^java\.runtime\.version\s*=\s*(\d[\d.]{0,20})/m),
    ...[pom, gradle ?? null].map((found) => found && { text: `>=${found.text}`, source: found.source, optional: true }),
  ];
}
