#if Postgres
extension PostgresSchema {
    /// The SQL functions for transfers.
    static let functions = """
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
}
#endif
