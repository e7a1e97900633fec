import type { Sample } from './sample.js';

const SERVER = `
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
public class Main {
  public static void main(String[] args) throws Exception {
    HttpServer server = HttpServer.create(new InetSocketAddress(Integer.parseInt(System.getenv("PORT"))), 0);
    server.createContext("/", exchange -> {
      byte[] body = "hello of Java".getBytes();
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
  }
}
`;

export const JAVA_SAMPLES: readonly Sample[] = [
  { name: 'Java: sources alone', needs: 'javac', files: { 'Main.java': SERVER }, expects: { body: 'hello of Java' } },
];
