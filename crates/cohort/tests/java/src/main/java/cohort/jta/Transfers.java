package cohort.jta;

import com.arjuna.ats.arjuna.common.CoordinatorEnvironmentBean;
import com.arjuna.ats.arjuna.common.CoreEnvironmentBean;
import com.arjuna.ats.arjuna.common.ObjectStoreEnvironmentBean;
import com.arjuna.ats.arjuna.common.RecoveryEnvironmentBean;
import com.arjuna.ats.arjuna.recovery.RecoveryManager;
import com.arjuna.ats.internal.jta.recovery.arjunacore.XARecoveryModule;
import com.arjuna.ats.jta.common.JTAEnvironmentBean;
import com.arjuna.ats.jta.recovery.XAResourceRecoveryHelper;
import com.arjuna.common.internal.util.propertyservice.BeanPopulator;
import jakarta.transaction.Transaction;
import jakarta.transaction.TransactionManager;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.XAConnection;
import javax.sql.XADataSource;
import javax.transaction.xa.XAException;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;
import org.postgresql.xa.PGXADataSource;

/**
 * Moves money between two databases in distributed transactions, and recovers what was left in doubt.
 *
 * <p>Arguments: the two servers as host:port, the folder of the transaction manager's log, and what to do:
 *
 * <ul>
 *   <li>{@code pause POINT NUMBER}: the transfer NUMBER, between the accounts of that number. It says "reached" at POINT of
 *       its commit and goes on when it is told to by a line, for whoever wants to kill something there.
 *   <li>{@code load SEED FIRST}: transfers at random in several threads, until it is killed. Says "committed NUMBER" for each.
 *   <li>{@code recover}: finishes what was left in doubt.
 * </ul>
 *
 * <p>Each begins with a pass of recovery if the log's folder is not new, and says "ready" then.
 */
public final class Transfers {
    private static final int THREADS = 4;
    private static final int ACCOUNTS = 10;

    private final List<XADataSource> sources;
    private final TransactionManager manager;
    private final RecoveryManager recovery;

    private Transfers(List<XADataSource> sources) {
        this.sources = sources;
        this.manager = com.arjuna.ats.jta.TransactionManager.transactionManager();
        this.recovery = RecoveryManager.manager(RecoveryManager.DIRECT_MANAGEMENT);
        recovery.initialize();
        XARecoveryModule.getRegisteredXARecoveryModule().addXAResourceRecoveryHelper(new FreshResources(sources));
    }

    public static void main(String[] arguments) throws Exception {
        configure(arguments[2]);
        Transfers transfers = new Transfers(List.of(source(arguments[0]), source(arguments[1])));
        switch (arguments[3]) {
            case "pause" -> {
                System.out.println("ready");
                Point point = new Point(arguments[4]);
                long number = Long.parseLong(arguments[5]);
                try {
                    transfers.transfer(number, (int) number, (int) number, point);
                    System.out.println("committed " + number);
                } catch (Exception error) {
                    System.out.println("failed " + error);
                }
                transfers.recover();
            }
            case "load" -> {
                transfers.recover();
                System.out.println("ready");
                transfers.load(Long.parseLong(arguments[4]), Integer.parseInt(arguments[5]));
            }
            case "recover" -> transfers.recover();
            default -> throw new IllegalArgumentException(arguments[3]);
        }
        System.out.println("done");
        System.exit(0);
    }

    private static void configure(String folder) {
        for (String store : new String[] {"default", "stateStore", "communicationStore"}) {
            BeanPopulator.getNamedInstance(ObjectStoreEnvironmentBean.class, store.equals("default") ? null : store)
                    .setObjectStoreDir(folder);
        }
        try {
            BeanPopulator.getDefaultInstance(CoreEnvironmentBean.class).setNodeIdentifier("1");
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
        BeanPopulator.getDefaultInstance(CoordinatorEnvironmentBean.class).setTransactionStatusManagerEnable(false);
        RecoveryEnvironmentBean recovery = BeanPopulator.getDefaultInstance(RecoveryEnvironmentBean.class);
        recovery.setRecoveryListener(false);
        recovery.setRecoveryBackoffPeriod(1);
        JTAEnvironmentBean jta = BeanPopulator.getDefaultInstance(JTAEnvironmentBean.class);
        jta.setXaRecoveryNodes(List.of("1"));
        // Nobody else is at work on these servers: what is not in the log will never be.
        jta.setOrphanSafetyInterval(1);
    }

    private static XADataSource source(String server) {
        String[] parts = server.split(":");
        PGXADataSource source = new PGXADataSource();
        source.setServerNames(new String[] {parts[0]});
        source.setPortNumbers(new int[] {Integer.parseInt(parts[1])});
        source.setDatabaseName("postgres");
        source.setUser("postgres");
        return source;
    }

    /** Moves its number from an account of the first database to one of the second, and notes it in both. */
    private void transfer(long number, int from, int to, Point point) throws Exception {
        XAConnection first = sources.get(0).getXAConnection();
        XAConnection second = sources.get(1).getXAConnection();
        try {
            manager.begin();
            Transaction transaction = manager.getTransaction();
            try {
                move(transaction, first, number, -number, from, point);
                move(transaction, second, number, number, to, point);
            } catch (Exception error) {
                manager.rollback();
                throw error;
            }
            manager.commit();
        } finally {
            first.close();
            second.close();
        }
    }

    private static void move(
            Transaction transaction, XAConnection connection, long number, long amount, int account, Point point)
            throws Exception {
        XAResource resource = new PausingResource(connection.getXAResource(), point);
        transaction.enlistResource(resource);
        try (Connection statements = connection.getConnection()) {
            run(statements, "update account set balance = balance + ? where id = ?", amount, account);
            run(statements, "insert into transfer values (?, ?)", number, amount);
        }
        transaction.delistResource(resource, XAResource.TMSUCCESS);
    }

    private static void run(Connection connection, String statement, long first, long second) throws SQLException {
        try (PreparedStatement prepared = connection.prepareStatement(statement)) {
            prepared.setLong(1, first);
            prepared.setLong(2, second);
            if (prepared.executeUpdate() != 1) {
                throw new SQLException("no row: " + statement);
            }
        }
    }

    private void load(long seed, int firstNumber) throws InterruptedException {
        AtomicInteger next = new AtomicInteger(firstNumber);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            Random random = new Random(seed * THREADS + i);
            threads[i] = new Thread(() -> {
                while (true) {
                    int number = next.getAndIncrement();
                    try {
                        transfer(number, 1 + random.nextInt(ACCOUNTS), 1 + random.nextInt(ACCOUNTS), new Point("none"));
                        System.out.println("committed " + number);
                    } catch (Exception error) {
                        System.out.println("failed " + number + " " + error);
                    }
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    /** Passes of recovery until nothing is prepared in either database. */
    private void recover() throws Exception {
        for (int pass = 0; pass < 15; pass++) {
            recovery.scan();
            if (prepared() == 0) {
                return;
            }
        }
        throw new IllegalStateException("recovery does not end");
    }

    private int prepared() throws SQLException {
        int found = 0;
        for (XADataSource source : sources) {
            XAConnection connection = source.getXAConnection();
            try (Connection statements = connection.getConnection();
                    ResultSet rows = statements.createStatement().executeQuery("select count(*) from pg_prepared_xacts")) {
                rows.next();
                found += rows.getInt(1);
            } finally {
                connection.close();
            }
        }
        return found;
    }

    /** Gives recovery a new connection to each database for each pass, as servers may have been restarted. */
    private record FreshResources(List<XADataSource> sources) implements XAResourceRecoveryHelper {
        @Override
        public boolean initialise(String parameters) {
            return true;
        }

        @Override
        public XAResource[] getXAResources() throws Exception {
            XAResource[] resources = new XAResource[sources.size()];
            for (int i = 0; i < resources.length; i++) {
                resources[i] = sources.get(i).getXAConnection().getXAResource();
            }
            return resources;
        }
    }

    /** A moment of a transaction's commit at which it stops to be killed. */
    private static final class Point {
        private final String name;
        private int prepared;
        private int committed;

        Point(String name) {
            this.name = name;
        }

        /** One branch is prepared, the other is not. */
        void beforePrepare() {
            pauseIf("one-prepared", prepared++ == 1);
        }

        /** Both are prepared and the decision is in the log; or one is committed and the other is not. */
        void beforeCommit() {
            pauseIf("both-prepared", committed == 0);
            pauseIf("one-committed", committed++ == 1);
        }

        private void pauseIf(String point, boolean isThere) {
            if (!isThere || !point.equals(name)) {
                return;
            }
            System.out.println("reached");
            try {
                new BufferedReader(new InputStreamReader(System.in)).readLine();
            } catch (java.io.IOException error) {
                throw new IllegalStateException(error);
            }
        }
    }

    /** A database's part in a transaction, which stops at the point. */
    private record PausingResource(XAResource inner, Point point) implements XAResource {
        @Override
        public int prepare(Xid xid) throws XAException {
            point.beforePrepare();
            return inner.prepare(xid);
        }

        @Override
        public void commit(Xid xid, boolean onePhase) throws XAException {
            point.beforeCommit();
            inner.commit(xid, onePhase);
        }

        @Override
        public void start(Xid xid, int flags) throws XAException {
            inner.start(xid, flags);
        }

        @Override
        public void end(Xid xid, int flags) throws XAException {
            inner.end(xid, flags);
        }

        @Override
        public void rollback(Xid xid) throws XAException {
            inner.rollback(xid);
        }

        @Override
        public void forget(Xid xid) throws XAException {
            inner.forget(xid);
        }

        @Override
        public Xid[] recover(int flag) throws XAException {
            return inner.recover(flag);
        }

        @Override
        public boolean isSameRM(XAResource other) throws XAException {
            return inner.isSameRM(other instanceof PausingResource pausing ? pausing.inner : other);
        }

        @Override
        public int getTransactionTimeout() throws XAException {
            return inner.getTransactionTimeout();
        }

        @Override
        public boolean setTransactionTimeout(int seconds) throws XAException {
            return inner.setTransactionTimeout(seconds);
        }
    }
}
