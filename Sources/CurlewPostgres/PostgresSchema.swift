#if Postgres
/// The tables of the queues of a schema, and the functions on them: each call of a store is one function, so that it is one
/// transaction and one way there and back.
///
/// Where an expression is no column (`state + 0`), the planner would take the index of the states otherwise, and look at each row.
///
/// A migration adds, and takes nothing away that older workers use: theirs are the functions with their number. Each version says from
/// which one on workers can still use it, so that several work side by side during a deployment.
enum PostgresSchema {
    struct Migration {
        /// The oldest version of the program that can use the schema after it.
        let compatible: Int
        let sql: String
    }

    static let migrations = [Migration(compatible: 1, sql: tables + functions + claims)]

    /// The version of this program.
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

    private static let functions = """
        CREATE FUNCTION moment_1() RETURNS bigint LANGUAGE sql VOLATILE AS
            'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';
        -- The clock of the leases: the same one.
        CREATE FUNCTION lease_moment_1() RETURNS bigint LANGUAGE sql VOLATILE AS
            'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint';

        -- Ends are numbered, and limits counted, by one transaction at a time, so that no number is seen after a greater one.
        CREATE FUNCTION take_turn_1(q text) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_advisory_xact_lock(hashtextextended(current_schema() || '/' || q, 0));
        END $$;

        CREATE FUNCTION tell_1(q text) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM pg_notify('curlew_queue', current_schema() || '/' || q);
        END $$;

        -- Notes that the queue can be reached. After a silence it may have been away, and not the workers: before any lease ends, whoever is
        -- there has a grace to come back. A claim that was not renewed since has five of them at most.
        CREATE FUNCTION feel_pulse_1(q text, lease_length bigint, grace bigint) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            m bigint := lease_moment_1();
            length bigint := lease_length / 3;
        BEGIN
            IF EXISTS (SELECT 1 FROM pulse WHERE queue = q AND moment BETWEEN m - length AND m + length) THEN
                UPDATE pulse SET moment = m, silence = length WHERE queue =
                    (SELECT queue FROM pulse WHERE queue = q AND moment < m - 200 FOR UPDATE SKIP LOCKED);
                RETURN;
            END IF;
            PERFORM take_turn_1(q);
            m := lease_moment_1();
            -- Another may have been first.
            IF EXISTS (SELECT 1 FROM pulse WHERE queue = q AND moment BETWEEN m - length AND m + length) THEN RETURN; END IF;
            UPDATE transfer SET lease = greatest(lease, m + grace), graces = graces + 1 WHERE number IN
                (SELECT number FROM transfer WHERE queue = q AND state = 1 AND graces < 5 ORDER BY number FOR UPDATE);
            INSERT INTO pulse VALUES (q, m, length)
                ON CONFLICT (queue) DO UPDATE SET moment = excluded.moment, silence = excluded.silence;
        END $$;

        CREATE FUNCTION finish_1(n bigint, s integer, r bytea) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            UPDATE transfer SET state = s, is_ready = false, due = 0, since = 0, worker = NULL, is_to_be_suspended = false, result = r,
                naming = NULL, fence = fence + 1, held = 0, ending = nextval('ending') WHERE number = n;
        END $$;

        CREATE FUNCTION take_1(t transfer, is_loss boolean, unknown bytea, lost bytea) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            count integer := t.losses + CASE WHEN is_loss THEN 1 ELSE 0 END;
            target integer := CASE WHEN t.is_to_be_suspended THEN 2 ELSE 0 END;
            m bigint := moment_1();
            pause bigint := 0;
        BEGIN
            IF NOT t.repeatable AND t.sent AND t.naming IS NULL THEN
                PERFORM finish_1(t.number, 6, unknown);
                RETURN;
            END IF;
            IF count >= 20 THEN
                PERFORM finish_1(t.number, 6, lost);
                RETURN;
            END IF;
            IF is_loss AND count >= 3 THEN pause := least(1000::bigint << count, 3600000); END IF;
            UPDATE transfer SET state = target, is_ready = (target = 0 AND pause = 0), due = m + pause, since = m, losses = count,
                is_to_be_suspended = false, worker = NULL WHERE number = t.number;
        END $$;

        -- False for a call that was made before. Only the first part of a call has its name.
        CREATE FUNCTION enqueue_1(
            q text, r text, call_name text, ids text[], hosts text[], tag_texts text[], priorities bigint[], befores bigint[], deadlines bigint[],
            repeatables boolean[], requests text[]) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE m bigint := moment_1();
        BEGIN
            IF call_name IS NOT NULL THEN
                DELETE FROM enqueuing WHERE queue = q AND call IN (SELECT e.call FROM enqueuing e
                    WHERE e.queue = q AND e.moment < m - 86400000 ORDER BY e.moment LIMIT 10 FOR UPDATE SKIP LOCKED);
                INSERT INTO enqueuing VALUES (q, call_name, m) ON CONFLICT (queue, call) DO NOTHING;
                IF NOT FOUND THEN RETURN false; END IF;
            END IF;
            INSERT INTO transfer (queue, reach, id, host, tags, place, enqueued, due, is_ready, since, deadline, repeatable, request)
                SELECT q, r, n.id, n.host, CASE WHEN n.tags = '' THEN '{}' ELSE string_to_array(n.tags, chr(31)) END,
                    m - n.priority * 600000, m, coalesce(n.before, 0), coalesce(n.before, 0) <= m, '-9223372036854775808'::bigint, n.deadline,
                    n.repeatable, n.request::bytea
                FROM unnest(ids, hosts, tag_texts, priorities, befores, deadlines, repeatables, requests)
                    WITH ORDINALITY AS n (id, host, tags, priority, before, deadline, repeatable, request, place)
                ORDER BY n.place
                ON CONFLICT (queue, id) DO NOTHING;
            PERFORM tell_1(q);
            RETURN true;
        END $$;

        CREATE FUNCTION checkpoint_1(
            q text, i text, f bigint, call bigint, new_token bytea, new_received bigint, new_total bigint, quota bigint,
            OUT verdict integer, OUT others bigint) LANGUAGE plpgsql AS $$
        DECLARE
            n bigint;
            size bigint := greatest(new_received, coalesce(new_total, 0));
        BEGIN
            others := 0;
            IF quota IS NOT NULL THEN PERFORM take_turn_1(q); END IF;
            SELECT number INTO n FROM transfer WHERE queue = q AND id = i AND fence = f AND state = 1 FOR UPDATE;
            IF NOT FOUND THEN verdict := 0; RETURN; END IF;
            IF quota IS NOT NULL THEN
                IF size > quota THEN verdict := 2; RETURN; END IF;
                SELECT coalesce(sum(held), 0) INTO others FROM transfer WHERE queue = q AND held > 0 AND number <> n;
                IF others > quota - size THEN verdict := 3; RETURN; END IF;
            END IF;
            -- One that was given up and came late changes nothing.
            UPDATE transfer SET token = new_token, received = new_received, total = new_total, held = size, sequence = call,
                losses = CASE WHEN new_received > peak THEN 0 ELSE losses END, peak = greatest(peak, new_received)
                WHERE number = n AND sequence <= call;
            verdict := 1;
        END $$;

        CREATE FUNCTION keep_token_1(
            q text, i text, f bigint, call bigint, new_token bytea, new_received bigint, new_total bigint) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE n bigint;
        BEGIN
            SELECT number INTO n FROM transfer WHERE queue = q AND id = i AND fence = f AND state = 1 FOR UPDATE;
            IF NOT FOUND THEN RETURN false; END IF;
            UPDATE transfer SET token = new_token, received = new_received, total = new_total, sent = false, sequence = call,
                losses = CASE WHEN new_received > peak THEN 0 ELSE losses END, peak = greatest(peak, new_received)
                WHERE number = n AND sequence <= call;
            RETURN true;
        END $$;

        CREATE FUNCTION mark_1(q text, i text, f bigint, is_naming boolean, new_naming bytea) RETURNS boolean LANGUAGE plpgsql AS $$
        BEGIN
            IF is_naming THEN
                UPDATE transfer SET naming = new_naming WHERE queue = q AND id = i AND fence = f AND state = 1;
            ELSE
                UPDATE transfer SET sent = true WHERE queue = q AND id = i AND fence = f AND state = 1;
            END IF;
            RETURN FOUND;
        END $$;

        -- target is the state after the trigger; the flag of a command counts more.
        CREATE FUNCTION give_back_1(
            q text, i text, f bigint, target integer, new_token bytea, pause bigint, is_failure boolean, new_total bigint,
            new_result bytea) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE
            m bigint := moment_1();
        BEGIN
            UPDATE transfer SET
                state = CASE WHEN is_to_be_suspended THEN 2 WHEN target = 2 THEN 0 ELSE target END,
                is_ready = NOT is_to_be_suspended AND target IN (0, 2) AND pause <= 0,
                due = m + pause, since = m, failures = failures + CASE WHEN is_failure THEN 1 ELSE 0 END, token = new_token,
                worker = NULL, sent = false, is_to_be_suspended = false, losses = 0, result = coalesce(new_result, result),
                total = coalesce(new_total, total), held = CASE WHEN new_token IS NULL THEN 0 ELSE held END
                WHERE queue = q AND id = i AND fence = f AND state = 1;
            IF FOUND THEN
                PERFORM tell_1(q);
                RETURN true;
            END IF;
            RETURN false;
        END $$;

        CREATE FUNCTION record_end_1(q text, i text, f bigint, s integer, r bytea, size bigint) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE n bigint;
        BEGIN
            PERFORM take_turn_1(q);
            SELECT number INTO n FROM transfer WHERE queue = q AND id = i AND fence = f AND state = 1 FOR UPDATE;
            IF NOT FOUND THEN RETURN false; END IF;
            PERFORM finish_1(n, s, r);
            IF s = 5 THEN
                UPDATE transfer SET received = coalesce(size, received), total = coalesce(size, total), held = coalesce(size, 0)
                    WHERE number = n;
            END IF;
            PERFORM tell_1(q);
            RETURN true;
        END $$;

        CREATE FUNCTION apply_1(t transfer, command text) RETURNS integer LANGUAGE plpgsql AS $$
        DECLARE
            m bigint := moment_1();
        BEGIN
            IF t.state >= 5 THEN RETURN 0; END IF;
            IF command = 'cancel' THEN
                -- What is about to get its name has as good as ended.
                IF t.naming IS NOT NULL THEN RETURN 0; END IF;
                PERFORM finish_1(t.number, 7, '');
            ELSIF t.state = 1 THEN
                UPDATE transfer SET is_to_be_suspended = (command = 'suspend') WHERE number = t.number;
            ELSIF command = 'suspend' THEN
                IF t.state = 2 THEN RETURN 0; END IF;
                UPDATE transfer SET state = 2, is_ready = false WHERE number = t.number;
            ELSE
                IF t.state = 0 THEN RETURN 0; END IF;
                UPDATE transfer SET state = 0, losses = 0,
                    is_ready = NOT (since = '-9223372036854775808'::bigint AND due > m) WHERE number = t.number;
            END IF;
            RETURN 1;
        END $$;

        -- Some of those that are named.
        CREATE FUNCTION command_1(q text, command text, ids text[]) RETURNS integer LANGUAGE plpgsql AS $$
        DECLARE
            t transfer;
            count integer := 0;
        BEGIN
            PERFORM take_turn_1(q);
            FOR t IN SELECT * FROM transfer WHERE queue = q AND id = ANY (ids) FOR UPDATE LOOP
                count := count + apply_1(t, command);
            END LOOP;
            IF count > 0 THEN PERFORM tell_1(q); END IF;
            RETURN count;
        END $$;

        -- The next thousand of all that have not ended, and the number of the last of them: no statement takes longer the more there are.
        CREATE FUNCTION command_all_1(q text, command text, after bigint, OUT count integer, OUT last bigint) LANGUAGE plpgsql AS $$
        DECLARE
            t transfer;
        BEGIN
            PERFORM take_turn_1(q);
            count := 0;
            FOR t IN SELECT * FROM transfer WHERE queue = q AND state + 0 < 5 AND number > after ORDER BY number LIMIT 1000 FOR UPDATE LOOP
                count := count + apply_1(t, command);
                last := t.number;
            END LOOP;
            IF count > 0 THEN PERFORM tell_1(q); END IF;
        END $$;

        CREATE FUNCTION acknowledge_1(q text, ids text[]) RETURNS void LANGUAGE plpgsql AS $$
        BEGIN
            IF ids IS NULL THEN
                DELETE FROM transfer WHERE queue = q AND state >= 5;
            ELSE
                DELETE FROM transfer WHERE queue = q AND id = ANY (ids) AND state + 0 >= 5;
            END IF;
            IF FOUND THEN PERFORM tell_1(q); END IF;
        END $$;

        -- True if there may be more.
        CREATE FUNCTION wake_network_1(q text) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE count integer;
        BEGIN
            UPDATE transfer SET state = 0, is_ready = true WHERE state + 0 = 3 AND number IN
                (SELECT number FROM transfer WHERE queue = q AND state = 3 ORDER BY number LIMIT 1000 FOR UPDATE);
            GET DIAGNOSTICS count = ROW_COUNT;
            IF count > 0 THEN PERFORM tell_1(q); END IF;
            RETURN count = 1000;
        END $$;

        """

    private static let claims = """
        -- Each reach has its own: nobody may be there who could run one that was woken.
        CREATE FUNCTION is_suspect_active_1(q text, r text) RETURNS boolean LANGUAGE sql STABLE AS $$
            SELECT EXISTS (SELECT 1 FROM transfer WHERE queue = q AND reach = r AND losses >= 3 AND state < 5
                AND (state + 0 = 1 OR (state + 0 = 0 AND is_ready)))
        $$;

        -- Takes transfers from workers whose leases are over, fails those whose deadline is, and wakes those whose time has come: a part of
        -- them, if they are many, so that no claim takes longer for it. The next claim goes on.
        CREATE FUNCTION tend_1(q text, r text, late bytea, unknown bytea, lost bytea) RETURNS boolean LANGUAGE plpgsql AS $$
        DECLARE
            t transfer;
            m bigint := moment_1();
            has_changed boolean := false;
        BEGIN
            FOR t IN SELECT * FROM transfer WHERE queue = q AND state = 1 AND lease <= lease_moment_1() LIMIT 500 FOR UPDATE LOOP
                PERFORM take_1(t, true, unknown, lost);
                has_changed := true;
            END LOOP;
            FOR t IN SELECT * FROM transfer WHERE queue = q AND deadline <= m AND deadline IS NOT NULL AND state < 5 AND state <> 1
                AND naming IS NULL ORDER BY deadline LIMIT 500 FOR UPDATE
            LOOP
                PERFORM finish_1(t.number, 6, late);
                has_changed := true;
            END LOOP;
            UPDATE transfer SET state = 0, is_ready = true WHERE number IN (SELECT number FROM transfer
                WHERE queue = q AND NOT is_ready AND state IN (0, 3, 4) AND losses < 3 AND due <= m ORDER BY due LIMIT 500 FOR UPDATE);
            has_changed := has_changed OR FOUND;
            -- The clock was set back.
            UPDATE transfer SET state = 0, is_ready = true WHERE number IN (SELECT number FROM transfer
                WHERE queue = q AND NOT is_ready AND state IN (0, 3, 4) AND losses < 3 AND since > m ORDER BY since LIMIT 500 FOR UPDATE);
            has_changed := has_changed OR FOUND;
            IF NOT is_suspect_active_1(q, r) THEN
                UPDATE transfer SET state = 0, is_ready = true WHERE number =
                    (SELECT number FROM transfer WHERE queue = q AND reach = r AND losses >= 3 AND state < 5 AND NOT is_ready
                        AND state + 0 IN (0, 3, 4) AND (due <= m OR since > m) ORDER BY place, number LIMIT 1);
                has_changed := has_changed OR FOUND;
            END IF;
            RETURN has_changed;
        END $$;

        -- The first of each host and tags, from after one on, in their order.
        CREATE FUNCTION lanes_1(q text, r text, after_host text, after_tags text[], most integer)
            RETURNS TABLE (lane_host text, lane_tags text[], lane_place bigint, lane_number bigint) LANGUAGE plpgsql STABLE AS $$
        BEGIN
            RETURN QUERY WITH RECURSIVE lane AS (
                (SELECT host, tags, place, number FROM transfer WHERE queue = q AND reach = r AND state = 0 AND is_ready
                    AND (tags, host) > (after_tags, after_host) ORDER BY tags, host, place, number LIMIT 1)
                UNION ALL
                SELECT following.* FROM lane CROSS JOIN LATERAL (
                    SELECT f.host, f.tags, f.place, f.number FROM transfer f
                        WHERE f.queue = q AND f.reach = r AND f.state = 0 AND f.is_ready
                            AND (f.tags, f.host) > (lane.tags, lane.host)
                        ORDER BY f.tags, f.host, f.place, f.number LIMIT 1) following
            ) SELECT * FROM lane LIMIT most;
        END $$;

        -- One that the limits let run, whichever: tags that are full are passed over with all of their hosts, and hosts that are full with
        -- all that wait for them.
        CREATE FUNCTION any_1(q text, r text, full_hosts text[], full_tags text[]) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            n bigint;
            last_host text := '';
            last_tags text[] := '{}';
        BEGIN
            LOOP
                SELECT host, tags, number INTO last_host, last_tags, n FROM transfer WHERE queue = q AND reach = r AND state = 0
                    AND is_ready AND (tags, host) > (last_tags, last_host) ORDER BY tags, host, place, number LIMIT 1;
                WHILE FOUND AND last_tags && full_tags LOOP
                    SELECT host, tags, number INTO last_host, last_tags, n FROM transfer WHERE queue = q AND reach = r AND state = 0
                        AND is_ready AND tags > last_tags ORDER BY tags, host, place, number LIMIT 1;
                END LOOP;
                EXIT WHEN n IS NULL OR last_host <> ALL (full_hosts);
            END LOOP;
            RETURN n;
        END $$;

        -- The first that the limits let run: among the first few, then among the first of each host and tags.
        --
        -- Where those are very many, and so many wait in front that are not let, a look at all would cost the more the more there are. It
        -- is the first among some hosts then, and after them the next ones have their turn, for each connection: nobody is passed over
        -- for ever.
        CREATE FUNCTION next_1(q text, r text, full_hosts text[], full_tags text[]) RETURNS bigint LANGUAGE plpgsql AS $$
        DECLARE
            n bigint;
            one bigint;
            lanes bigint;
            last_host text;
            last_tags text[];
        BEGIN
            SELECT x.number INTO n FROM
                (SELECT number, place, host, tags FROM transfer WHERE queue = q AND reach = r AND state = 0 AND is_ready
                    ORDER BY place, number LIMIT 256) x
                WHERE x.host <> ALL (full_hosts) AND NOT x.tags && full_tags ORDER BY x.place, x.number LIMIT 1;
            IF FOUND THEN RETURN n; END IF;
            one := any_1(q, r, full_hosts, full_tags);
            IF one IS NULL THEN RETURN NULL; END IF;
            SELECT count(*), (array_agg(l.lane_number ORDER BY l.lane_place, l.lane_number)
                    FILTER (WHERE l.lane_host <> ALL (full_hosts) AND NOT l.lane_tags && full_tags))[1]
                INTO lanes, n FROM lanes_1(q, r, '', '{}', 64) l;
            IF lanes < 64 THEN RETURN n; END IF;
            SELECT x.number INTO n FROM
                (SELECT number, place, host, tags FROM transfer WHERE queue = q AND reach = r AND state = 0 AND is_ready
                    ORDER BY place, number LIMIT 1024) x
                WHERE x.host <> ALL (full_hosts) AND NOT x.tags && full_tags ORDER BY x.place, x.number LIMIT 1;
            IF FOUND THEN RETURN n; END IF;
            last_host := coalesce(current_setting('curlew.lane_host', true), '');
            last_tags := coalesce(nullif(current_setting('curlew.lane_tags', true), ''), '{}')::text[];
            SELECT count(*), (array_agg(l.lane_number ORDER BY l.lane_place, l.lane_number)
                    FILTER (WHERE l.lane_host <> ALL (full_hosts) AND NOT l.lane_tags && full_tags))[1],
                    (array_agg(l.lane_host ORDER BY l.lane_tags DESC, l.lane_host DESC))[1],
                    (array_agg(l.lane_tags::text ORDER BY l.lane_tags DESC, l.lane_host DESC))[1]::text[]
                INTO lanes, n, last_host, last_tags FROM lanes_1(q, r, last_host, last_tags, 128) l;
            IF lanes < 128 THEN
                last_host := '';
                last_tags := '{}';
            END IF;
            PERFORM set_config('curlew.lane_host', last_host, false), set_config('curlew.lane_tags', last_tags::text, false);
            RETURN coalesce(n, one);
        END $$;

        CREATE FUNCTION claim_1(
            q text, r text, w text, call bigint, lease_length bigint, grace bigint, most integer, total_limit integer, host_limit integer,
            limited_tags text[], tag_limits integer[], late bytea, unknown bytea, lost bytea)
            RETURNS SETOF transfer LANGUAGE plpgsql AS $$
        DECLARE
            t transfer;
            running integer;
            first bigint;
            full_hosts text[];
            full_tags text[];
            has_changed boolean;
        BEGIN
            -- The limits hold over all workers, so that they are counted by one at a time.
            PERFORM take_turn_1(q);
            PERFORM feel_pulse_1(q, lease_length, grace);
            has_changed := tend_1(q, r, late, unknown, lost);
            SELECT count(*) INTO running FROM transfer WHERE queue = q AND state = 1;
            FOR i IN 1..most LOOP
                EXIT WHEN running >= total_limit;
                SELECT coalesce(array_agg(host), '{}') INTO full_hosts FROM
                    (SELECT host FROM transfer WHERE queue = q AND state = 1 GROUP BY host HAVING count(*) >= host_limit) x;
                SELECT coalesce(array_agg(l.tag), '{}') INTO full_tags FROM unnest(limited_tags, tag_limits) AS l (tag, most)
                    WHERE l.most <= (SELECT count(*) FROM transfer WHERE queue = q AND state = 1 AND l.tag = ANY (tags));
                first := next_1(q, r, full_hosts, full_tags);
                EXIT WHEN first IS NULL;
                UPDATE transfer SET state = 1, is_ready = false, fence = fence + 1, worker = w, sequence = call, graces = 0,
                    lease = lease_moment_1() + lease_length, is_to_be_suspended = false
                    WHERE number = (SELECT number FROM transfer WHERE number = first AND state = 0 AND is_ready
                        FOR UPDATE SKIP LOCKED)
                    RETURNING * INTO t;
                EXIT WHEN NOT FOUND;
                running := running + 1;
                has_changed := true;
                RETURN NEXT t;
            END LOOP;
            IF has_changed THEN PERFORM tell_1(q); END IF;
        END $$;

        -- call is the number of the worker's call. What it has claimed by a later one is none that it has forgotten: this one was given up, and
        -- came late.
        CREATE FUNCTION renew_1(
            q text, w text, call bigint, lease_length bigint, grace bigint, ids text[], fences bigint[], receiveds bigint[],
            totals bigint[], unknown bytea, lost bytea)
            RETURNS TABLE (claimed text, claim_fence bigint, is_order boolean) LANGUAGE plpgsql AS $$
        DECLARE
            t transfer;
            has_forgotten boolean := false;
        BEGIN
            PERFORM feel_pulse_1(q, lease_length, grace);
            FOR t IN SELECT x.* FROM transfer x WHERE x.queue = q AND x.state = 1 AND x.worker = w AND x.sequence < call
                AND NOT EXISTS (SELECT 1 FROM unnest(ids, fences) AS p (id, fence) WHERE p.id = x.id AND p.fence = x.fence)
            LOOP
                has_forgotten := true;
                PERFORM take_turn_1(q);
                PERFORM take_1(x, false, unknown, lost) FROM transfer x
                    WHERE x.number = t.number AND x.state = 1 AND x.worker = w AND x.fence = t.fence;
                PERFORM tell_1(q);
            END LOOP;
            -- It may be lost with the machine.
            IF NOT has_forgotten THEN PERFORM set_config('synchronous_commit', 'off', true); END IF;
            -- Whoever had taken it would have changed its fence, so that a lease that is over is still the worker's.
            RETURN QUERY UPDATE transfer x SET lease = lease_moment_1() + lease_length, graces = 0, received = p.received,
                    total = coalesce(p.total, x.total), losses = CASE WHEN p.received > x.peak THEN 0 ELSE x.losses END,
                    peak = greatest(x.peak, p.received)
                FROM (SELECT y.number, u.received, u.total FROM unnest(ids, fences, receiveds, totals) AS u (id, fence, received, total)
                    JOIN transfer y ON y.queue = q AND y.id = u.id AND y.fence = u.fence AND y.state = 1 AND y.worker = w
                    ORDER BY y.number FOR UPDATE OF y) p
                WHERE x.number = p.number
                RETURNING x.id, x.fence, x.is_to_be_suspended;
        END $$;

        CREATE FUNCTION resign_1(q text, w text, unknown bytea, lost bytea) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE
            t transfer;
        BEGIN
            PERFORM take_turn_1(q);
            FOR t IN SELECT * FROM transfer WHERE queue = q AND state = 1 AND worker = w FOR UPDATE LOOP
                PERFORM take_1(t, true, unknown, lost);
                PERFORM tell_1(q);
            END LOOP;
        END $$;

        CREATE FUNCTION outlook_1(
            q text, r text, w text, OUT is_ready boolean, OUT wait bigint, OUT is_drained boolean, OUT running integer,
            OUT own integer) LANGUAGE plpgsql AS $$
        DECLARE
            m bigint := moment_1();
            pulse_moment bigint := lease_moment_1();
        BEGIN
            -- An idle worker is one, too; what comes after a silence is left to a claim.
            IF w IS NOT NULL THEN
                PERFORM set_config('synchronous_commit', 'off', true);
                UPDATE pulse p SET moment = pulse_moment WHERE p.queue = (SELECT x.queue FROM pulse x WHERE x.queue = q
                    AND x.moment BETWEEN pulse_moment - x.silence AND pulse_moment - 200 FOR UPDATE SKIP LOCKED);
            END IF;
            is_ready := EXISTS (SELECT 1 FROM transfer t WHERE t.queue = q AND t.reach = r AND t.state = 0 AND t.is_ready
                ORDER BY t.place, t.number LIMIT 1);
            SELECT least(
                (SELECT min(t.due) - m FROM transfer t WHERE t.queue = q AND NOT t.is_ready AND t.state IN (0, 3, 4)
                    AND (t.losses < 3 OR t.due > m)),
                CASE WHEN NOT is_suspect_active_1(q, r) THEN (SELECT min(t.due) - m FROM transfer t WHERE t.queue = q AND t.reach = r
                    AND t.losses >= 3 AND t.state < 5 AND t.state + 0 IN (0, 3, 4)) END,
                (SELECT min(t.deadline) - m FROM transfer t WHERE t.queue = q AND t.deadline IS NOT NULL AND t.state < 5
                    AND t.state <> 1 AND t.naming IS NULL),
                (SELECT min(t.lease) - lease_moment_1() FROM transfer t WHERE t.queue = q AND t.state = 1),
                CASE WHEN EXISTS (SELECT 1 FROM transfer t WHERE t.queue = q AND NOT t.is_ready AND t.state IN (0, 3, 4)
                    AND t.since > m AND t.losses < 3) THEN 0 END) INTO wait;
            is_drained := NOT EXISTS
                (SELECT 1 FROM transfer t WHERE t.queue = q AND t.reach = r AND t.state IN (0, 1, 3, 4));
            SELECT count(*) INTO running FROM transfer t WHERE t.queue = q AND t.state = 1;
            SELECT count(*) INTO own FROM transfer t
                WHERE t.queue = q AND t.state = 1 AND t.worker = w AND NOT t.is_to_be_suspended;
        END $$;
        """
}
#endif
