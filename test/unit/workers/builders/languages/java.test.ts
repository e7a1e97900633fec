import { expect } from 'chai';
import { projectFiles } from '../../../../../workers/builders/files/project-files.js';
import { java } from '../../../../../workers/builders/languages/java.js';

function plan(texts: Record<string, string>) {
  const { start, build, tools, versions } = java.plan(projectFiles(Object.keys(texts), texts));
  const [wish, builder] = versions.languages ?? [];
  return {
    start,
    build: build.join('; '),
    tools: tools.map(({ name }) => name),
    wish: wish?.wish,
    builder: builder?.name,
  };
}

const WRAPPER = { mvnw: '', '.mvn/wrapper/maven-wrapper.properties': '' };
const GRADLEW = { gradlew: '', 'gradle/wrapper/gradle-wrapper.properties': '' };
const SPRING = '<plugin><artifactId>spring-boot-maven-plugin</artifactId></plugin>';

describe('The plan of a Java project', () => {
  it('builds with Maven, by its wrapper if the repository has it whole', () => {
    expect(plan({ 'pom.xml': SPRING })).to.deep.include({
      build: 'mvn -B -ntp -Dmaven.repo.local="$MAVEN_REPOSITORY" -DskipTests -Dmaven.javadoc.skip=true package',
      start: 'java -jar target/*.jar',
      tools: ['mvn'],
      builder: 'maven',
    });
    const wrapped = plan({ 'pom.xml': SPRING, ...WRAPPER });
    expect(wrapped.build).to.match(/^sh \.\/mvnw -B /);
    expect(wrapped).to.deep.include({ tools: [], builder: undefined });
    expect(plan({ 'pom.xml': SPRING, mvnw: '' }).build).to.match(/^mvn /);
  });

  it('starts classes with the jars of others where no plugin packs them', () => {
    const main = '<configuration><mainClass>\n com.example.Main </mainClass></configuration>';
    const start = 'java -cp "target/classes:target/dependency/*" com.example.Main';
    expect(plan({ 'pom.xml': main }).start).to.equal(start);
    expect(plan({ 'pom.xml': main }).build).to.match(/ package$/);
    expect(plan({ 'pom.xml': `${main}<dependency>` }).build).to.match(
      / package dependency:copy-dependencies -DincludeScope=runtime$/,
    );
    const shaded = `${main}<artifactId>maven-shade-plugin</artifactId>`;
    expect(plan({ 'pom.xml': shaded }).start).to.equal('java -jar target/*.jar');
  });

  for (const [kind, text, task, start] of [
    [
      'Spring Boot',
      'plugins { id("org.springframework.boot") version "3.4.0" }',
      'bootJar',
      'java -jar build/libs/*.jar',
    ],
    ['Ktor', 'plugins { id "io.ktor.plugin" }', 'buildFatJar', 'java -jar build/libs/*.jar'],
    ['Quarkus', "plugins { id 'io.quarkus' }", 'quarkusBuild', 'java -jar build/libs/*.jar'],
    ['Kotlin', 'plugins {\n  kotlin("jvm")\n  application\n}', 'installDist', 'build/install/*/bin/*'],
    ['Groovy', "plugins { id 'application' }", 'installDist', 'build/install/*/bin/*'],
    ['a library', 'plugins { id "java" }', 'assemble', 'java -jar build/libs/*.jar'],
  ] as const) {
    it(`builds ${kind} with Gradle`, () => {
      const found = plan({ 'build.gradle.kts': text, ...GRADLEW });
      expect(found.build).to.equal(`sh ./gradlew --no-daemon --console=plain --build-cache ${task}`);
      expect(found).to.deep.include({ start, tools: [], builder: undefined });
    });
  }

  it('reads plugins of the folder app and of a catalog, and takes the Gradle of the host without a wrapper', () => {
    const found = plan({ 'settings.gradle': '', 'app/build.gradle': "plugins { id 'application' }" });
    expect(found.build).to.equal('gradle --no-daemon --console=plain --build-cache installDist');
    expect(found.builder).to.equal('gradle');
    const catalog = {
      'build.gradle.kts': '',
      'gradle/libs.versions.toml': 'boot = { id = "org.springframework.boot" }',
    };
    expect(plan(catalog).build).to.match(/ bootJar$/);
  });

  it('compiles source files alone', () => {
    expect(plan({ 'Main.java': 'class Main {}' })).to.deep.include({
      build:
        "find . -name '*.java' ! -path '*/.*/*' ! -path '*/test/*' >.ranvier-sources && " +
        "javac -encoding UTF-8 -cp 'lib/*' -d .ranvier/classes @.ranvier-sources",
      start: 'java -cp ".ranvier/classes:lib/*" Main',
      builder: undefined,
    });
    expect(plan({ 'src/App.java': '// it\npackage org.example;\n' }).start).to.equal(
      'java -cp ".ranvier/classes:lib/*" org.example.App',
    );
  });

  for (const [file, text, range, more] of [
    ['.java-version', '17\n', '17', {}],
    ['.java-version', '1.8', '8', {}],
    ['.java-version', 'temurin-21', '21', {}],
    ['.tool-versions', 'java temurin-21.0.2+13.0.LTS', '~21.0.2', {}],
    ['.sdkmanrc', '# sdk\njava=21.0.2-tem', '~21.0.2', {}],
    ['system.properties', 'java.runtime.version=11', '11', {}],
    ['mise.toml', '[tools]\njava = "21"', '21', {}],
    ['pom.xml', '<java.version>17</java.version>', '>=17', { optional: true, lowest: true }],
    ['pom.xml', '<maven.compiler.source>1.8</maven.compiler.source>', '>=8', { optional: true, lowest: true }],
    ['build.gradle', 'sourceCompatibility = JavaVersion.VERSION_1_8', '>=8', { optional: true, lowest: true }],
    ['build.gradle', "sourceCompatibility = '17'", '>=17', { optional: true, lowest: true }],
    ['build.gradle.kts', 'languageVersion.set(JavaLanguageVersion.of(21))', '21', { optional: true }],
    ['app/build.gradle.kts', 'kotlin { jvmToolchain(21) }', '21', { optional: true }],
  ] as const) {
    it(`wants Java ${range} because of ${text.trim()} in ${file}`, () => {
      expect(plan({ [file]: text }).wish).to.deep.equal({ range, source: file, ...more });
    });
  }
});
