import java.util.Arrays;
import java.util.Properties;
import java.util.Random;
import jcifs.CIFSContext;
import jcifs.config.PropertyConfiguration;
import jcifs.context.BaseContext;
import jcifs.smb.NtlmPasswordAuthenticator;
import jcifs.smb.SmbFile;

/** jcifs-ng and its fork of codelibs: HOST PORT SHARE USER PASSWORD. Names of directories end with a separator. */
public class Jcifs {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("jcifs.smb.client.disableSMB1", "true");
        CIFSContext plain = new BaseContext(new PropertyConfiguration(properties));
        CIFSContext context = plain.withCredentials(new NtlmPasswordAuthenticator("", args[3], args[4]));
        String root = "smb://" + args[0] + ":" + args[1] + "/" + args[2] + "/";
        byte[] data = new byte[300_000];
        new Random(7).nextBytes(data);
        SmbFile directory = new SmbFile(root + "jcifs/", context);
        directory.mkdir();
        SmbFile file = new SmbFile(directory, "file.bin");
        try (var out = file.getOutputStream()) {
            out.write(data);
        }
        try (var in = file.getInputStream()) {
            check(Arrays.equals(in.readAllBytes(), data), "content");
        }
        check(file.length() == data.length && directory.isDirectory() && file.isFile(), "attributes");
        check(Arrays.asList(directory.list()).contains("file.bin"), "listing");
        file.setLastModified(1_000_000_000_000L);
        check(new SmbFile(directory, "file.bin").lastModified() == 1_000_000_000_000L, "time");
        file.copyTo(new SmbFile(directory, "copy.bin"));
        check(new SmbFile(directory, "copy.bin").length() == data.length, "copy");
        directory.renameTo(new SmbFile(root + "renamed/", context));
        SmbFile renamed = new SmbFile(root + "renamed/", context);
        check(renamed.exists() && !new SmbFile(root + "jcifs/", context).exists(), "renamed directory");
        new SmbFile(renamed, "file.bin").renameTo(new SmbFile(renamed, "other.bin"));
        check(new SmbFile(renamed, "other.bin").exists(), "renamed file");
        check(new SmbFile(renamed, "other.bin").getSecurity() != null, "descriptor");
        renamed.delete();
        check(!new SmbFile(root + "renamed/", context).exists(), "removal");
        context.close();
    }

    private static void check(boolean right, String what) {
        if (!right) {
            throw new AssertionError(what);
        }
    }
}
