#if Postgres
extension PostgresSchema {
    /// The SQL functions for claims.
    static let claims = """
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
