import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Takes the lock of a file as Kafka does with .lock, says whether it got it, and holds it until its input ends. */
public class Lock {
    public static void main(String[] args) throws Exception {
        try (FileChannel channel = FileChannel.open(Path.of(args[0]), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            FileLock lock = channel.tryLock();
            System.out.println(lock == null ? "busy" : "held");
            while (System.in.read() >= 0) { }
        }
    }
}
