import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;

/**
 * Writes one segment in which every format of messages that Kafka ever had stands with every codec
 * of its time: test/fixtures/kafka-legacy. Run by `java -cp JARS LegacySegment.java FILE`.
 *
 * Record N has the key `key-N`, every fourth none; the value `value N ` ten times, every seventh
 * none; and the time 1400000000000 + N ms, where the format has one.
 */
public class LegacySegment {
  static final int BATCH = 5;
  static final ByteBuffer target = ByteBuffer.allocate(1 << 20);
  static long offset = 0;

  public static void main(String[] args) throws Exception {
    Compression[] codecs = {
      Compression.NONE, Compression.gzip().build(), Compression.snappy().build(), Compression.lz4().build(),
    };
    for (byte magic = 0; magic <= 2; magic++) {
      for (Compression codec : codecs) append(magic, codec, TimestampType.CREATE_TIME);
    }
    append((byte) 1, codecs[0], TimestampType.LOG_APPEND_TIME);
    append((byte) 1, codecs[1], TimestampType.LOG_APPEND_TIME);
    append((byte) 2, Compression.zstd().build(), TimestampType.LOG_APPEND_TIME);
    target.flip();
    byte[] bytes = new byte[target.remaining()];
    target.get(bytes);
    Files.write(Path.of(args[0]), bytes);
  }

  static void append(byte magic, Compression codec, TimestampType type) {
    TimestampType stated = magic == 0 ? TimestampType.NO_TIMESTAMP_TYPE : type;
    ByteBuffer part = ByteBuffer.allocate(1 << 16);
    MemoryRecordsBuilder builder =
        MemoryRecords.builder(part, magic, codec, stated, offset, 1_500_000_000_000L);
    for (int i = 0; i < BATCH; i++, offset++) {
      byte[] key = offset % 4 == 3 ? null : ("key-" + offset).getBytes();
      byte[] value = offset % 7 == 6 ? null : ("value " + offset + " ").repeat(10).getBytes();
      builder.appendWithOffset(offset, magic == 0 ? -1 : 1_400_000_000_000L + offset, key, value);
    }
    target.put(builder.build().buffer());
  }
}
