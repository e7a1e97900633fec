import type { ProjectFiles } from '../files/project-files.js';
import { languageWish } from '../toolchains/language-wish.js';
import { program } from '../toolchains/required-tool.js';
import { type NamedVersion, versionFile, versionIn } from '../toolchains/version-files.js';
import { type LanguageWish, wishesFor } from '../toolchains/version-wish.js';
import { JAR_PROGRAM, LISTEN, SCRIPT_PROGRAM } from './java-start.js';
import { EMPTY_PLAN, type Language, type LanguagePlan } from './language.js';

const GRADLE_FILES = ['build.gradle', 'build.gradle.kts', 'settings.gradle', 'settings.gradle.kts'];
/** The build files in the folder that `gradle init` creates for the application. */
const APP_FILES = ['app/build.gradle', 'app/build.gradle.kts'];
/** Names of source files that have the main method in a project without a build tool. */
const ENTRY_FILES = ['Main', 'App', 'Application', 'Server'].flatMap((name) => [`${name}.java`, `src/${name}.java`]);
const CLASSES = '.ranvier/classes';
const SKIP_TESTS = '-DskipTests -Dmaven.javadoc.skip=true';
/** Maven options besides those in `.mvn/maven.config`. They place Maven's repository in a kept folder. */
const MAVEN = `-B -ntp -Dmaven.repo.local="$MAVEN_REPOSITORY" ${SKIP_TESTS}`;
/** Matches Maven plugins that build a jar with all its dependencies. */
const WHOLE_JARS =
  /<artifactId>(spring-boot|quarkus|micronaut|maven-shade|maven-assembly|helidon|wildfly-jar)-?[\w-]*plugin</;

type Steps = Pick<LanguagePlan, 'tools' | 'build' | 'start' | 'startProgram' | 'caches'> & { wish: LanguageWish[] };

/** Java and Kotlin projects, built with Maven, with Gradle, or by the compiler alone. */
export const java: Language = {
  runtime: 'java',
  marks: ['pom.xml', 'build.gradle', 'build.gradle.kts'],
  reads: [
    ...['pom.xml', ...GRADLE_FILES, ...APP_FILES, ...ENTRY_FILES],
    ...['.java-version', '.sdkmanrc', 'system.properties', 'gradle/libs.versions.toml'],
  ],
  matches: (files) => ['pom.xml', ...GRADLE_FILES, ...ENTRY_FILES].some(files.has),
  // With a file of Maven or Gradle, a project is Java even if it has a package.json: their plugins build its assets.
  leads: (files) => ['pom.xml', ...GRADLE_FILES].some(files.has),
  plan(files): LanguagePlan {
    const { wish, ...steps } = stepsOf(files);
    return {
      ...EMPTY_PLAN,
      ...steps,
      versions: wishesFor(versionOf(files), ...wish),
      startAdvice: 'keep a Main.java in the root directory',
      // Limits the heap to three quarters of the plan's memory. The virtual machine's default is a quarter.
      environment: { JAVA_TOOL_OPTIONS: '-XX:MaxRAMPercentage=75' },
    };
  },
};

function stepsOf(files: ProjectFiles): Steps {
  if (files.has('pom.xml')) return maven(files);
  return GRADLE_FILES.some(files.has) ? gradle(files) : plain(files);
}

function maven(files: ProjectFiles): Steps {
  const hasWrapper = files.has('mvnw') && files.has('.mvn/wrapper/maven-wrapper.properties');
  const pom = files.text('pom.xml') ?? '';
  const main = /<mainClass>\s*([\w.$]{1,200})\s*<\/mainClass>/.exec(pom)?.[1];
  // Without a plugin that packs one jar, the application consists of its classes and the jars of its dependencies.
  const isLoose = main !== undefined && !WHOLE_JARS.test(pom) && !/<modules>/.test(pom);
  const goals = isLoose ? 'package dependency:copy-dependencies -DincludeScope=runtime' : 'package';
  return {
    ...builtBy('maven', 'mvn', hasWrapper, files),
    build: [`${hasWrapper ? 'sh ./mvnw' : 'mvn'} ${MAVEN} ${isLoose && !hasDependencies(pom) ? 'package' : goals}`],
    ...(isLoose
      ? started(`java -cp "target/classes:target/dependency/*" ${main}`, '')
      : started('java -jar target/*.jar', JAR_PROGRAM)),
    caches: { MAVEN_REPOSITORY: 'maven', MAVEN_USER_HOME: 'maven-wrapper' },
  };
}

function hasDependencies(pom: string): boolean {
  return /<dependency>/.test(pom) || /<parent>/.test(pom);
}

function gradle(files: ProjectFiles): Steps {
  const hasWrapper = files.has('gradlew') && files.has('gradle/wrapper/gradle-wrapper.properties');
  const text = [...GRADLE_FILES, ...APP_FILES, 'gradle/libs.versions.toml'].map((name) => files.text(name)).join('\n');
  const { task, makesScript } = taskOf(text);
  return {
    ...builtBy('gradle', 'gradle', hasWrapper, files),
    build: [`${hasWrapper ? 'sh ./gradlew' : 'gradle'} --no-daemon --console=plain --build-cache ${task}`],
    ...(makesScript
      ? started('build/install/*/bin/*', SCRIPT_PROGRAM)
      : started('java -jar build/libs/*.jar', JAR_PROGRAM)),
    caches: { GRADLE_USER_HOME: 'gradle' },
  };
}

/** Returns the Gradle task whose result can be started. `text` has the version catalog too, which may name plugins. */
function taskOf(text: string): { task: string; makesScript: boolean } {
  if (/org\.springframework\.boot\b/.test(text)) return { task: 'bootJar', makesScript: false };
  if (/io\.ktor\.plugin\b/.test(text)) return { task: 'buildFatJar', makesScript: false };
  if (/\bio\.quarkus\b/.test(text)) return { task: 'quarkusBuild', makesScript: false };
  if (/com\.(github\.johnrengelman|gradleup)\.shadow\b/.test(text)) return { task: 'shadowJar', makesScript: false };
  const isApplication =
    /(\bid\s*\(?\s*|plugin:\s*)["']application["']|^\s*`?application`?\s*(\{|$)|io\.micronaut\./m.test(text);
  return isApplication ? { task: 'installDist', makesScript: true } : { task: 'assemble', makesScript: false };
}

/** Returns the steps that compile source files without a build tool, together with the jars in the folder `lib`. */
function plain(files: ProjectFiles): Steps {
  const entry = ENTRY_FILES.find(files.has) ?? 'Main.java';
  const folder = /^\s*package\s+([\w.]{1,200})\s*;/m.exec(files.text(entry) ?? '')?.[1];
  const name = (entry.split('/').at(-1) ?? entry).replace('.java', '');
  const sources = entry.startsWith('src/') ? 'src' : '.';
  return {
    tools: [],
    wish: [],
    build: [
      `find ${sources} -name '*.java' ! -path '*/.*/*' ! -path '*/test/*' >.ranvier-sources && ` +
        `javac -encoding UTF-8 -cp 'lib/*' -d ${CLASSES} @.ranvier-sources`,
    ],
    ...started(`java -cp "${CLASSES}:lib/*" ${folder === undefined ? name : `${folder}.${name}`}`, ''),
    caches: {},
  };
}

/** Returns the build tool that the host needs; none if the repository has a wrapper, which fetches the tool. */
function builtBy(name: 'maven' | 'gradle', command: string, hasWrapper: boolean, files: ProjectFiles) {
  if (hasWrapper) return { tools: [], wish: [] };
  const advice = `install it (Debian: apt-get install ${name}), or add its wrapper to the repository`;
  return { tools: [program(command, advice)], wish: [languageWish(files, name)] };
}

/**
 * Adds a shell script to a start command. The script sets the port variables of Spring Boot, Quarkus and Micronaut, and
 * then runs `choice`, or the start command if `choice` is empty.
 */
function started(start: string, choice: string): Pick<Steps, 'start' | 'startProgram'> {
  return { start, startProgram: `${LISTEN}${choice === '' ? `exec ${start}` : choice}` };
}

function versionOf(files: ProjectFiles): LanguageWish {
  const named = languageWish(files, 'java', [
    modern(versionFile(files, '.java-version')),
    modern(versionIn(files, '.sdkmanrc', /^java=(\S+)/m)),
    modern(versionIn(files, 'system.properties', /^java\.runtime\.version\s*[=:]\s*(\S+)/m)),
  ]);
  if (named.wish !== null) return named;
  const toolchain = /(?:JavaLanguageVersion\.of|jvmToolchain)\(\s*(\d{1,3})/;
  const source = /(?:sourceCompatibility|options\.release)[^\n\d]{0,60}?((?:1[._])?\d{1,2})\b/;
  const compiled = /<(?:java\.version|maven\.compiler\.(?:release|source)|release|source)>\s*((?:1\.)?\d{1,2})\s*</;
  const inGradle = (pattern: RegExp) =>
    [...GRADLE_FILES, ...APP_FILES].map((name) => versionIn(files, name, pattern)).find((found) => found !== null) ??
    null;
  const exact = inGradle(toolchain);
  const least = modern(versionIn(files, 'pom.xml', compiled) ?? inGradle(source));
  return languageWish(files, 'java', [
    exact && { ...exact, optional: true },
    least && { ...least, text: `>=${least.text}`, optional: true, lowest: true },
  ]);
}

/** Converts old version names: Java 8 and older were called 1.8 and so on. */
function modern(version: NamedVersion | null): NamedVersion | null {
  return version && { ...version, text: version.text.replace(/^(\D*)1[._](?=\d)/, '$1') };
}
