#if Postgres
/// The tables for the queues of a schema, and the functions on them. Each call of a store is one function, and so one
/// transaction and one round trip.
///
/// Where a state is used in an expression (`state + 0`), the planner would otherwise choose the index of states and
/// scan each row.
///
/// A migration only adds; it removes nothing that older workers use, such as the functions with their version's number.
/// Each version states the oldest version of a worker that can still use it, so that several versions can work side by
/// side during a deployment.
enum PostgresSchema {
    struct Migration {
        /// The oldest version of the program that can use the schema after this migration.
        let compatible: Int
        let sql: String
    }

    static let migrations = [Migration(compatible: 1, sql: tables + functions + claims)]

    /// The schema version of this program.
    static var version: Int { migrations.count }

    private static let tables = """
        CREATE TABLE transfer (
            number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            queue text NOT NULL,
            id text NOT NULL,
            reach text NOT NULL,
            state integer NOT NULL DEFAULT 0,
            place bigint NOT NULL,
            host text NOT NULL,
            tags text[] NOT NULL,
            enqueued bigint NOT NULL,
            is_ready boolean NOT NULL,
            due bigint NOT NULL,
            since bigint NOT NULL,
            deadline bigint,
            repeatable boolean NOT NULL,
            sent boolean NOT NULL DEFAULT false,
            failures integer NOT NULL DEFAULT 0,
            fence bigint NOT NULL DEFAULT 0,
            worker text,
            lease bigint,
            graces integer NOT NULL DEFAULT 0,
            sequence bigint NOT NULL DEFAULT 0,
            is_to_be_suspended boolean NOT NULL DEFAULT false,
            received bigint NOT NULL DEFAULT 0,
            total bigint,
            held bigint NOT NULL DEFAULT 0,
            losses integer NOT NULL DEFAULT 0,
            peak bigint NOT NULL DEFAULT 0,
            request bytea NOT NULL,
            token bytea,
            naming bytea,
            result bytea,
            ending bigint,
            UNIQUE (queue, id)
        );
        CREATE INDEX transfer_ready ON transfer (queue, reach, place, number) WHERE state = 0 AND is_ready;
        CREATE INDEX transfer_lane ON transfer (queue, reach, tags, host, place, number) WHERE state = 0 AND is_ready;
        CREATE INDEX transfer_due ON transfer (queue, due) WHERE NOT is_ready AND state IN (0, 3, 4);
        CREATE INDEX transfer_since ON transfer (queue, since) WHERE NOT is_ready AND state IN (0, 3, 4);
        CREATE INDEX transfer_active ON transfer (queue, reach) WHERE state IN (0, 1, 3, 4);
        CREATE INDEX transfer_queue ON transfer (queue, number);
        CREATE INDEX transfer_state ON transfer (queue, state, number);
        CREATE INDEX transfer_running ON transfer (queue, number) WHERE state = 1;
        CREATE INDEX transfer_deadline ON transfer (queue, deadline) WHERE deadline IS NOT NULL AND state < 5;
        CREATE INDEX transfer_held ON transfer (queue, held) WHERE held > 0;
        CREATE INDEX transfer_ending ON transfer (queue, ending) WHERE ending IS NOT NULL;
        CREATE INDEX transfer_suspect ON transfer (queue, reach, place, number) WHERE losses >= 3 AND state < 5;
        -- The calls that have added something, for a day: one that is repeated, because its answer was lost, adds nothing, even if what it
        -- had added has ended and was acknowledged meanwhile.
        CREATE TABLE enqueuing (
            queue text NOT NULL,
            call text NOT NULL,
            moment bigint NOT NULL,
            PRIMARY KEY (queue, call)
        );
        CREATE INDEX enqueuing_moment ON enqueuing (queue, moment);
        -- When a worker last reached the queue, and the time without one that is a silence.
        CREATE TABLE pulse (
            queue text PRIMARY KEY,
            moment bigint NOT NULL,
            silence bigint NOT NULL
        );
        CREATE SEQUENCE ending;
        -- A cursor of tables that were here before is none of these.
        SELECT setval('ending', (extract(epoch FROM clock_timestamp()) * 1000)::bigint * 1000);

        """
}
#endif
