import com.hierynomus.msdtyp.AccessMask;
import com.hierynomus.mssmb2.SMB2CreateDisposition;
import com.hierynomus.mssmb2.SMB2ShareAccess;
import com.hierynomus.smbj.SMBClient;
import com.hierynomus.smbj.auth.AuthenticationContext;
import com.hierynomus.smbj.share.DiskShare;
import com.hierynomus.smbj.share.File;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Random;
import java.util.Set;

/** smbj: HOST PORT SHARE USER PASSWORD. */
public class Smbj {
    private static final Set<SMB2ShareAccess> ALL = SMB2ShareAccess.ALL;

    public static void main(String[] args) throws Exception {
        byte[] data = new byte[300_000];
        new Random(7).nextBytes(data);
        try (var client = new SMBClient(); var connection = client.connect(args[0], Integer.parseInt(args[1]))) {
            var session = connection.authenticate(new AuthenticationContext(args[3], args[4].toCharArray(), ""));
            var share = (DiskShare) session.connectShare(args[2]);
            share.mkdir("smbj");
            try (File file = open(share, "smbj\\file.bin", SMB2CreateDisposition.FILE_CREATE)) {
                file.write(data, 0);
            }
            try (File file = open(share, "smbj\\file.bin", SMB2CreateDisposition.FILE_OPEN);
                    File copy = open(share, "smbj\\copy.bin", SMB2CreateDisposition.FILE_CREATE)) {
                check(Arrays.equals(file.getInputStream().readAllBytes(), data), "content");
                file.remoteCopyTo(copy);
                check(Arrays.equals(copy.getInputStream().readAllBytes(), data), "copy");
                file.createHardlink("smbj\\second.bin");
                file.rename("smbj\\renamed.bin", true);
            }
            check(share.list("smbj").size() == 5 && share.fileExists("smbj\\second.bin"), "listing");
            check(share.getSecurityInfo("smbj\\renamed.bin", EnumSet.of(
                com.hierynomus.msdtyp.SecurityInformation.OWNER_SECURITY_INFORMATION)) != null, "descriptor");
            try (var directory = share.openDirectory("smbj", EnumSet.of(AccessMask.GENERIC_ALL), null, ALL,
                    SMB2CreateDisposition.FILE_OPEN, null)) {
                directory.rename("other");
            }
            share.rmdir("other", true);
            check(!share.folderExists("other"), "removal");
        }
    }

    private static File open(DiskShare share, String name, SMB2CreateDisposition how) {
        return share.openFile(name, EnumSet.of(AccessMask.GENERIC_ALL), null, ALL, how, null);
    }

    private static void check(boolean right, String what) {
        if (!right) {
            throw new AssertionError(what);
        }
    }
}
