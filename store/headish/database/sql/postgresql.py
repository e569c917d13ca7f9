"""Every statement in the words of PostgreSQL.

Written by ``make sql`` from ``headish.statements``.
"""

from __future__ import annotations

from headish.database.query import Compiled, Texts

TEXTS: Texts = {
    'a bookmark whose log goes on behind its last move': Compiled("""SELECT bookmark.name 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT AND (EXISTS (SELECT * 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = bookmark.name AND bookmark_log.move > bookmark.move)) ORDER BY bookmark.name 
 LIMIT 1""", ('space', 'space')),
    'a name that its turn no longer says it moved': Compiled("""UPDATE bookmark SET own=0 WHERE bookmark.space = %s::BIGINT AND bookmark.name = %s AND bookmark.chain = %s::BIGINT AND bookmark.pos = %s::BIGINT""", ('space', 'head', 'chain', 'pos')),
    'add a turn that has nothing but its blocks': Compiled("""INSERT INTO turn (space, chain, pos, seq, id, role, digest, hash, data, seal, head, app) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::VARCHAR, %s::VARCHAR, %s, %s, %s, %s, %s, %s)""", ('space', 'chain', 'pos', 'seq', 'id', 'role', 'digest', 'hash', 'data', 'seal', 'head', 'app')),
    'add bookmark': Compiled("""INSERT INTO bookmark (space, name, chain, pos, move, recent, own, running) VALUES (%s::BIGINT, %s, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::SMALLINT, %s)""", ('space', 'name', 'chain', 'pos', 'move', 'recent', 'own', 'running')),
    'add counter': Compiled("""INSERT INTO counter (space, seq, change, latest, epoch, roots, heads, given_bytes, bars) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT) ON CONFLICT DO NOTHING""", ('space', 'seq', 'change', 'latest', 'random', 'roots', 'heads', 'given_bytes', 'bars'), {'bars': 0, 'change': 0, 'given_bytes': 0, 'heads': 0, 'latest': 0, 'roots': 0, 'seq': 0}),
    'add definition': Compiled("""INSERT INTO definition (space, kind, name, number, hash, data, milliseconds, seq, change, running) VALUES (%s::BIGINT, %s::VARCHAR, %s, %s::BIGINT, %s, %s, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s)""", ('space', 'kind', 'name', 'number', 'hash', 'data', 'milliseconds', 'seq', 'change', 'running')),
    'add link': Compiled("""INSERT INTO link (space, chain, ordinal, parent_chain, parent_pos) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT)""", ('space', 'chain', 'ordinal', 'parent_chain', 'parent_pos')),
    'add payload': Compiled("""INSERT INTO payload (space, hash, size, data) VALUES (%s::BIGINT, %s, %s::BIGINT, %s) ON CONFLICT (space, hash) DO UPDATE SET size = excluded.size, data = excluded.data WHERE payload.data IS DISTINCT FROM excluded.data AND payload.erased IS NULL""", ('space', 'hash', 'size', 'data')),
    'add receipt': Compiled("""INSERT INTO erasure (space, number, change, seq, id, receipt, before, hash, milliseconds) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::VARCHAR, %s, %s, %s, %s::BIGINT)""", ('space', 'number', 'change', 'seq', 'id', 'receipt', 'before', 'hash', 'milliseconds')),
    'add space': Compiled("""INSERT INTO space (name) VALUES (%s) ON CONFLICT DO NOTHING""", ('name',)),
    'add to the search index': Compiled("""INSERT INTO search_text (space, seq, words) VALUES (%s, %s, array_to_tsvector(string_to_array(%s, ' ')))""", ('space', 'seq', 'words')),
    'add turn': Compiled("""INSERT INTO turn (space, chain, pos, seq, id, role, type, content_type, cache, attributes, inherited, system, digest, hash, data, seal, head, app, erased, key, supersedes) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::VARCHAR, %s::VARCHAR, %s::VARCHAR, %s::VARCHAR, %s::SMALLINT, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::BIGINT, %s, %s::VARCHAR)""", ('space', 'chain', 'pos', 'seq', 'id', 'role', 'type', 'content_type', 'cache', 'attributes', 'inherited', 'system', 'digest', 'hash', 'data', 'seal', 'head', 'app', 'erased', 'key', 'supersedes')),
    'all definitions': Compiled("""SELECT definition.kind, definition.name, definition.number, definition.hash, coalesce(definition.data, payload.data) AS coalesce_1, definition.milliseconds, definition.running, definition.seq 
FROM definition LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = definition.hash AND definition.data IS NULL 
WHERE definition.space = %s::BIGINT ORDER BY definition.kind, definition.name, definition.number""", ('space', 'space')),
    'all journals': Compiled("""SELECT stream_chunk.stream, stream_chunk.number, stream_chunk.data, stream.id, stream.outcome 
FROM stream_chunk LEFT OUTER JOIN stream ON stream.space = %s::BIGINT AND stream.id = stream_chunk.stream 
WHERE stream_chunk.space = %s::BIGINT ORDER BY stream_chunk.stream, stream_chunk.number""", ('space', 'space')),
    'all spaces, the removed ones too': Compiled("""SELECT space.id, CAST(space.name AS BYTEA) AS name, CASE WHEN (counter.state = %s::VARCHAR) THEN %s::INTEGER ELSE %s::INTEGER END AS anon_1 
FROM space LEFT OUTER JOIN counter ON counter.space = space.id ORDER BY space.id""", ('state_1', 'param_1', 'param_2'), {'param_1': 1, 'param_2': 0, 'state_1': 'removed'}),
    'all streams': Compiled("""SELECT stream.id, stream.about, stream.outcome, stream.turn, turn.seq 
FROM stream LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.id = stream.turn 
WHERE stream.space = %s::BIGINT ORDER BY stream.id""", ('space', 'space')),
    'all that the counter of a space says': Compiled("""SELECT counter.seq, counter.change, counter.latest, counter.roots, counter.heads, counter.given_bytes, counter.bars, counter.limit_turns, counter.limit_bytes 
FROM counter 
WHERE counter.space = %s::BIGINT""", ('space',)),
    'bar content': Compiled("""INSERT INTO payload (space, hash, size, data, erased) VALUES (%s::BIGINT, %s, %s::BIGINT, NULL, %s::BIGINT) ON CONFLICT (space, hash) DO UPDATE SET data = NULL, erased = excluded.erased""", ('space', 'hash', 'size', 'erased')),
    'barred addresses': Compiled("""SELECT payload.hash, payload.size, payload.erased 
FROM payload 
WHERE payload.space = %s::BIGINT AND payload.erased IS NOT NULL""", ('space',)),
    'begin the search index anew': Compiled("""UPDATE search SET seq = 0, version = %s, emptied = emptied + 1 WHERE space = %s""", ('version', 'space')),
    'begin the search index of a space': Compiled("""INSERT INTO search (space, seq, version, emptied) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT) ON CONFLICT DO NOTHING""", ('space', 'seq', 'version', 'emptied')),
    'begin to restore a space': Compiled("""UPDATE counter SET state=%s::VARCHAR WHERE counter.space = %s::BIGINT AND (counter.state IS NULL AND counter.seq = 0 AND counter.change = 0 OR counter.state > %s::VARCHAR AND counter.state < %s::VARCHAR)""", ('mark', 'space', 'low', 'high')),
    'bookmarks that had a name before': Compiled("""SELECT DISTINCT bookmark_log.name 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.change IS NOT NULL AND bookmark_log.was = %s ORDER BY bookmark_log.name""", ('space', 'was')),
    'bookmarks without a log': Compiled("""SELECT bookmark.name 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT AND NOT (EXISTS (SELECT * 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = bookmark.name)) ORDER BY bookmark.name""", ('space', 'space')),
    'bytes of the payloads of all turns': Compiled("""SELECT coalesce(sum(coalesce(length(turn.data), payload.size, %s::INTEGER)), %s::INTEGER) AS coalesce_1 
FROM turn LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL 
WHERE turn.space = %s::BIGINT""", ('coalesce_2', 'coalesce_3', 'space', 'space'), {'coalesce_2': 0, 'coalesce_3': 0}),
    'chains that grew from places': Compiled("""WITH RECURSIVE seeds(chain, pos) AS (SELECT CAST(value->>0 AS bigint) AS chain, CAST(value->>1 AS bigint) AS pos FROM json_array_elements(CAST(%s AS json))), grown(from_chain, from_pos, chain, low) AS (SELECT chain, pos, chain, pos FROM seeds UNION SELECT grown.from_chain, grown.from_pos, l.chain, 0 FROM grown JOIN link AS l ON l.space = %s AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low) SELECT from_chain, from_pos, chain, low FROM grown LIMIT %s""", ('places', 'space', 'limit')),
    'changes whose commit numbers go back': Compiled("""SELECT in_order.change, in_order.seq, in_order.before 
FROM (SELECT numbered.change AS change, numbered.seq AS seq, lag(numbered.seq) OVER (ORDER BY numbered.change) AS before 
FROM (SELECT bookmark_log.change AS change, bookmark_log.seq AS seq 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.change IS NOT NULL UNION ALL SELECT definition.change AS change, definition.seq AS seq 
FROM definition 
WHERE definition.space = %s::BIGINT AND definition.change IS NOT NULL UNION ALL SELECT erasure.change AS change, erasure.seq AS seq 
FROM erasure 
WHERE erasure.space = %s::BIGINT AND erasure.change IS NOT NULL UNION ALL SELECT record_log.change AS change, record_log.seq AS seq 
FROM record_log 
WHERE record_log.space = %s::BIGINT AND record_log.change IS NOT NULL) AS numbered) AS in_order 
WHERE in_order.seq < in_order.before ORDER BY in_order.change""", ('space', 'space', 'space', 'space')),
    'close a stream': Compiled("""UPDATE stream SET outcome=%s::VARCHAR, turn=%s::VARCHAR WHERE stream.space = %s::BIGINT AND stream.id = %s::VARCHAR""", ('became', 'stored', 'space', 'id')),
    'commit number of the last receipt': Compiled("""SELECT erasure.seq 
FROM erasure 
WHERE erasure.space = %s::BIGINT ORDER BY erasure.number DESC 
 LIMIT %s::INTEGER""", ('space', 'param_1'), {'param_1': 1}),
    'conversation by key': Compiled("""SELECT conversation.subject, conversation.revision, conversation.data 
FROM conversation 
WHERE conversation.space = %s::BIGINT AND conversation.key = %s""", ('space', 'key')),
    'conversations that have tags, a page': Compiled("""SELECT subject, data FROM conversation WHERE space = %s AND subject > %s ORDER BY subject LIMIT %s""", ('space', 'after', 'limit')),
    'conversations with a name, the last moved first': Compiled("""WITH RECURSIVE page(name, chain, pos, recent) AS (SELECT b.name, b.chain, b.pos, b.recent FROM bookmark AS b LEFT JOIN conversation AS c ON c.space = %s AND c.subject = b.name WHERE b.space = %s AND b.recent >= 0 AND (b.recent, b.name) < (%s, %s) AND (%s < 0 OR coalesce(c.archived, 0) = %s) AND (%s < 0 OR coalesce(c.pinned, 0) = %s) ORDER BY b.recent DESC, b.name DESC LIMIT %s), path(name, chain, pos) AS (SELECT name, chain, pos FROM page UNION ALL SELECT path.name, l.parent_chain, l.parent_pos FROM path JOIN link AS l ON l.space = %s AND l.chain = path.chain AND l.ordinal = 0 AND l.parent_chain < path.chain), begins(name, chain) AS (SELECT path.name, min(path.chain) FROM path WHERE EXISTS (SELECT 1 FROM turn AS o WHERE o.space = %s AND o.chain = path.chain AND o.pos <= path.pos AND o.role = 'user') GROUP BY path.name), lengths(name, turns) AS (SELECT path.name, sum(path.pos + 1) FROM path GROUP BY path.name) SELECT page.name, page.recent, lengths.turns, t.id, t.role, t.type, t.system, CASE WHEN t.data IS NULL AND tp.size > 65536 THEN substr(tp.data, 1, 2048) ELSE coalesce(t.data, tp.data) END, CASE WHEN t.data IS NULL AND tp.size > 65536 THEN 1 ELSE 0 END, t.erased, CASE WHEN t.type = 'overlay' THEN t.attributes END, f.id, f.role, f.type, f.system, CASE WHEN f.data IS NULL AND fp.size > 65536 THEN substr(fp.data, 1, 2048) ELSE coalesce(f.data, fp.data) END, CASE WHEN f.data IS NULL AND fp.size > 65536 THEN 1 ELSE 0 END, f.erased, CASE WHEN f.type = 'overlay' THEN f.attributes END FROM page LEFT JOIN turn AS t ON t.space = %s AND t.chain = page.chain AND t.pos = page.pos LEFT JOIN payload AS tp ON tp.space = %s AND tp.hash = t.hash AND t.data IS NULL AND t.erased IS NULL LEFT JOIN lengths ON lengths.name = page.name LEFT JOIN begins ON begins.name = page.name LEFT JOIN turn AS f ON f.space = %s AND f.chain = begins.chain AND f.pos = (SELECT o.pos FROM turn AS o WHERE o.space = %s AND o.chain = begins.chain AND o.role = 'user' ORDER BY o.pos LIMIT 1) LEFT JOIN payload AS fp ON fp.space = %s AND fp.hash = f.hash AND f.data IS NULL AND f.erased IS NULL ORDER BY page.recent DESC, page.name DESC""", ('space', 'space', 'recent', 'name', 'archived', 'archived', 'pinned', 'pinned', 'limit', 'space', 'space', 'space', 'space', 'space', 'space', 'space')),
    'conversations without a name, the newest first': Compiled("""WITH RECURSIVE chains(chain, n) AS (SELECT max(o.chain), 1 FROM turn AS o WHERE o.space = %s AND o.chain < %s UNION ALL SELECT (SELECT max(o.chain) FROM turn AS o WHERE o.space = %s AND o.chain < chains.chain), n + 1 FROM chains WHERE chains.chain IS NOT NULL AND n < %s), spoken(chain, pos) AS (SELECT chains.chain, (SELECT o.pos FROM turn AS o WHERE o.space = %s AND o.chain = chains.chain AND o.role <> 'system' AND o.role <> 'developer' ORDER BY o.pos LIMIT 1) FROM chains WHERE chains.chain IS NOT NULL), back(start, chain, pos, role) AS (SELECT s.chain, l.parent_chain, l.parent_pos, o.role FROM spoken AS s JOIN link AS l ON l.space = %s AND l.chain = s.chain AND l.ordinal = 0 AND l.parent_chain < s.chain JOIN turn AS o ON o.space = %s AND o.chain = l.parent_chain AND o.pos = l.parent_pos WHERE s.pos IS NOT NULL UNION ALL SELECT back.start, l.parent_chain, l.parent_pos, o.role FROM back JOIN link AS l ON l.space = %s AND l.chain = back.chain AND l.ordinal = 0 AND l.parent_chain < back.chain JOIN turn AS o ON o.space = %s AND o.chain = l.parent_chain AND o.pos = l.parent_pos WHERE back.role = 'system' OR back.role = 'developer'), goes_on(start) AS (SELECT DISTINCT back.start FROM back WHERE EXISTS (SELECT 1 FROM turn AS o WHERE o.space = %s AND o.chain = back.chain AND o.pos <= back.pos AND o.role <> 'system' AND o.role <> 'developer')), firsts(chain, pos, id, supersedes) AS (SELECT s.chain, s.pos, f.id, f.supersedes FROM spoken AS s LEFT JOIN goes_on ON goes_on.start = s.chain LEFT JOIN turn AS f ON f.space = %s AND f.chain = s.chain AND f.pos = s.pos WHERE s.pos IS NOT NULL AND goes_on.start IS NULL), older(start, chain, pos) AS (SELECT firsts.chain, f.chain, f.pos FROM firsts JOIN turn AS f ON f.space = %s AND f.id = firsts.supersedes AND f.role <> 'system' AND f.role <> 'developer' WHERE firsts.supersedes IS NOT NULL), before(start, chain, pos) AS (SELECT start, chain, pos - 1 FROM older UNION ALL SELECT before.start, l.parent_chain, l.parent_pos FROM before JOIN link AS l ON l.space = %s AND l.chain = before.chain AND l.ordinal = 0 AND l.parent_chain < before.chain), inside(start) AS (SELECT DISTINCT before.start FROM before WHERE EXISTS (SELECT 1 FROM turn AS o WHERE o.space = %s AND o.chain = before.chain AND o.pos <= before.pos AND o.role <> 'system' AND o.role <> 'developer')), begins(chain, pos, id) AS (SELECT firsts.chain, firsts.pos, firsts.id FROM firsts LEFT JOIN older ON older.start = firsts.chain LEFT JOIN inside ON inside.start = firsts.chain WHERE older.start IS NULL OR inside.start IS NOT NULL), ways AS (SELECT 0 AS way UNION ALL SELECT 1 AS way), grown(start, chain, low, id) AS (SELECT chain, chain, pos, id FROM begins UNION SELECT grown.start, coalesce(l.chain, v.chain), coalesce(v.pos, 0), v.id FROM grown CROSS JOIN ways LEFT JOIN link AS l ON ways.way = 0 AND l.space = %s AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low LEFT JOIN turn AS v ON ways.way = 1 AND v.space = %s AND v.supersedes = grown.id WHERE l.chain IS NOT NULL OR v.chain IS NOT NULL), held(chain, pos) AS (SELECT b.chain, b.pos FROM bookmark AS b WHERE b.space = %s AND b.chain IN (SELECT grown.chain FROM grown)), named(start) AS (SELECT DISTINCT grown.start FROM held JOIN grown ON grown.chain = held.chain AND grown.low <= held.pos), page(chain, pos) AS (SELECT begins.chain, begins.pos FROM begins LEFT JOIN named ON named.start = begins.chain WHERE named.start IS NULL ORDER BY begins.chain DESC LIMIT %s), ends(start, chain, low, pos) AS (SELECT DISTINCT grown.start, grown.chain, grown.low, (SELECT max(o.pos) FROM turn AS o WHERE o.space = %s AND o.chain = grown.chain) FROM page JOIN grown ON grown.start = page.chain), sums(start, newest, turns, branches) AS (SELECT ends.start, max(ends.chain), sum(ends.pos - ends.low + 1), sum(CASE WHEN EXISTS (SELECT 1 FROM link AS l WHERE l.space = %s AND l.parent_chain = ends.chain AND l.parent_pos = ends.pos) THEN 0 ELSE 1 END) FROM ends GROUP BY ends.start) SELECT page.chain, s.id, sums.branches, sums.turns, t.id, t.role, t.type, t.system, CASE WHEN t.data IS NULL AND tp.size > 65536 THEN substr(tp.data, 1, 2048) ELSE coalesce(t.data, tp.data) END, CASE WHEN t.data IS NULL AND tp.size > 65536 THEN 1 ELSE 0 END, t.erased, CASE WHEN t.type = 'overlay' THEN t.attributes END, f.id, f.role, f.type, f.system, CASE WHEN f.data IS NULL AND fp.size > 65536 THEN substr(fp.data, 1, 2048) ELSE coalesce(f.data, fp.data) END, CASE WHEN f.data IS NULL AND fp.size > 65536 THEN 1 ELSE 0 END, f.erased, CASE WHEN f.type = 'overlay' THEN f.attributes END FROM page LEFT JOIN turn AS s ON s.space = %s AND s.chain = page.chain AND s.pos = page.pos LEFT JOIN sums ON sums.start = page.chain LEFT JOIN turn AS t ON t.space = %s AND t.chain = sums.newest AND t.pos = (SELECT max(o.pos) FROM turn AS o WHERE o.space = %s AND o.chain = sums.newest) LEFT JOIN payload AS tp ON tp.space = %s AND tp.hash = t.hash AND t.data IS NULL AND t.erased IS NULL LEFT JOIN turn AS f ON f.space = %s AND f.chain = page.chain AND f.pos = (SELECT o.pos FROM turn AS o WHERE o.space = %s AND o.chain = page.chain AND o.pos >= page.pos AND o.role = 'user' ORDER BY o.pos LIMIT 1) LEFT JOIN payload AS fp ON fp.space = %s AND fp.hash = f.hash AND f.data IS NULL AND f.erased IS NULL ORDER BY page.chain DESC""", ('space', 'before', 'space', 'looked_at', 'space', 'space', 'space', 'space', 'space', 'space', 'space', 'space', 'space', 'space', 'space', 'space', 'space', 'limit', 'space', 'space', 'space', 'space', 'space', 'space', 'space', 'space', 'space')),
    'count bookmarks': Compiled("""SELECT count(*) AS count_1 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT""", ('space',)),
    'count spaces': Compiled("""SELECT count(*) AS count_1 
FROM space 
WHERE space.name > %s""", ('after',)),
    'count streams that ended long ago': Compiled("""SELECT count(*) AS count_1 
FROM stream 
WHERE stream.space = %s::BIGINT AND stream.outcome IS NOT NULL AND stream.expires < %s::BIGINT""", ('space', 'past')),
    'count the numbers of changes': Compiled("""SELECT count(*) AS count_1, count(DISTINCT numbered.change) AS count_2, max(numbered.change) AS max_1 
FROM (SELECT bookmark_log.change AS change, bookmark_log.seq AS seq 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.change IS NOT NULL UNION ALL SELECT definition.change AS change, definition.seq AS seq 
FROM definition 
WHERE definition.space = %s::BIGINT AND definition.change IS NOT NULL UNION ALL SELECT erasure.change AS change, erasure.seq AS seq 
FROM erasure 
WHERE erasure.space = %s::BIGINT AND erasure.change IS NOT NULL UNION ALL SELECT record_log.change AS change, record_log.seq AS seq 
FROM record_log 
WHERE record_log.space = %s::BIGINT AND record_log.change IS NOT NULL) AS numbered""", ('space', 'space', 'space', 'space')),
    'count turns': Compiled("""SELECT count(*) AS count_1 
FROM turn 
WHERE turn.space = %s::BIGINT""", ('space',)),
    'count turns that continue nothing': Compiled("""WITH RECURSIVE chains(chain) AS 
(SELECT min(turn.chain) AS chain 
FROM turn 
WHERE turn.space = %s::BIGINT UNION ALL SELECT (SELECT min(other.chain) AS min_1 
FROM turn AS other 
WHERE other.space = %s::BIGINT AND other.chain > chains.chain) AS anon_1 
FROM chains 
WHERE chains.chain IS NOT NULL)
 SELECT count(*) AS count_1 
FROM chains 
WHERE chains.chain IS NOT NULL AND NOT (EXISTS (SELECT * 
FROM link 
WHERE link.space = %s::BIGINT AND link.chain = chains.chain))""", ('space', 'space', 'space')),
    'count turns that nothing continues': Compiled("""WITH RECURSIVE chains(chain) AS 
(SELECT min(turn.chain) AS chain 
FROM turn 
WHERE turn.space = %s::BIGINT UNION ALL SELECT (SELECT min(other.chain) AS min_1 
FROM turn AS other 
WHERE other.space = %s::BIGINT AND other.chain > chains.chain) AS anon_1 
FROM chains 
WHERE chains.chain IS NOT NULL)
 SELECT count(*) AS count_1 
FROM turn, chains 
WHERE turn.space = %s::BIGINT AND turn.chain = chains.chain AND turn.pos = (SELECT other.pos 
FROM turn AS other 
WHERE other.space = %s::BIGINT AND other.chain = chains.chain ORDER BY other.pos DESC 
 LIMIT %s::INTEGER) AND NOT (EXISTS (SELECT * 
FROM link 
WHERE link.space = %s::BIGINT AND link.parent_chain = turn.chain AND link.parent_pos = turn.pos))""", ('space', 'space', 'space', 'space', 'param_1', 'space'), {'param_1': 1}),
    'count what was erased': Compiled("""UPDATE counter SET given_bytes=(counter.given_bytes - %s::BIGINT), bars=(counter.bars + %s::BIGINT) WHERE counter.space = %s::BIGINT""", ('less_bytes', 'more_bars', 'space')),
    'count what was restored': Compiled("""UPDATE counter SET seq=%s::BIGINT, change=%s::BIGINT, latest=%s::BIGINT, roots=%s::BIGINT, heads=%s::BIGINT, given_bytes=%s::BIGINT, bars=%s::BIGINT, limit_turns=%s::BIGINT, limit_bytes=%s::BIGINT WHERE counter.space = %s::BIGINT AND counter.state = %s::VARCHAR""", ('to_seq', 'to_change', 'to_latest', 'to_roots', 'to_heads', 'to_given_bytes', 'to_bars', 'to_limit_turns', 'to_limit_bytes', 'space', 'mark')),
    'definitions of a range of changes': Compiled("""SELECT definition.change, definition.seq, definition.milliseconds, definition.running, definition.kind, definition.name, definition.number, definition.hash IS NULL AS anon_1 
FROM definition 
WHERE definition.space = %s::BIGINT AND definition.change > %s::BIGINT AND definition.change <= %s::BIGINT""", ('space', 'low', 'high')),
    'digests next to those of turns, and whether one is shared': Compiled("""SELECT t.id, t.digest, (SELECT substr(o.digest, 1, 8) FROM turn AS o WHERE o.space = %s AND substr(o.digest, 1, 8) < substr(t.digest, 1, 8) ORDER BY substr(o.digest, 1, 8) DESC LIMIT 1), (SELECT substr(o.digest, 1, 8) FROM turn AS o WHERE o.space = %s AND substr(o.digest, 1, 8) > substr(t.digest, 1, 8) ORDER BY substr(o.digest, 1, 8) LIMIT 1), (SELECT o.id FROM turn AS o WHERE o.space = %s AND substr(o.digest, 1, 8) = substr(t.digest, 1, 8) AND o.id <> t.id LIMIT 1) FROM turn AS t WHERE t.space = %s AND t.id IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('space', 'space', 'space', 'space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'drop a payload': Compiled("""DELETE FROM payload WHERE payload.space = %s::BIGINT AND payload.hash = %s AND payload.erased IS NULL""", ('space', 'hash')),
    'drop a stream': Compiled("""DELETE FROM stream WHERE stream.space = %s::BIGINT AND stream.id = %s::VARCHAR AND stream.outcome IS NULL""", ('space', 'id')),
    'empty a turn': Compiled("""UPDATE turn SET data=NULL, erased=%s::BIGINT WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos = %s::BIGINT""", ('number', 'space', 'chain', 'pos')),
    'empty a turn and its meta': Compiled("""UPDATE turn SET attributes=CASE WHEN (turn.type = 'overlay') THEN turn.attributes ELSE NULL END, inherited=NULL, system=NULL, data=NULL, head=NULL, app=NULL, erased=%s::BIGINT, key=%s WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos = %s::BIGINT""", ('number', 'key_hash', 'space', 'chain', 'pos')),
    'empty the search index': Compiled("""DELETE FROM search_text WHERE space = %s""", ('space',)),
    'end of the log of a bookmark': Compiled("""SELECT bookmark_log.move, bookmark_log.running 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = %s ORDER BY bookmark_log.move DESC 
 LIMIT %s::INTEGER""", ('space', 'name', 'param_1'), {'param_1': 1}),
    'end of the newest branch that grew from a turn': Compiled("""WITH RECURSIVE grown(chain, low) AS (SELECT CAST(%s AS BIGINT), CAST(%s AS BIGINT) UNION SELECT l.chain, 0 FROM grown JOIN link AS l ON l.space = %s AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low) SELECT t.id FROM turn AS t WHERE t.space = %s AND t.chain = (SELECT max(chain) FROM grown) ORDER BY t.pos DESC LIMIT 1""", ('chain', 'pos', 'space', 'space')),
    'end the counter of an erased space': Compiled("""UPDATE counter SET seq=0, latest=0, epoch=%s, state=%s::VARCHAR, roots=0, heads=0, given_bytes=0, bars=0, limit_turns=NULL, limit_bytes=NULL WHERE counter.space = %s::BIGINT""", ('random', 'became', 'space')),
    'erase all rows of a space in bookmark': Compiled("""DELETE FROM bookmark WHERE bookmark.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in bookmark_log': Compiled("""DELETE FROM bookmark_log WHERE bookmark_log.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in conversation': Compiled("""DELETE FROM conversation WHERE conversation.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in definition': Compiled("""DELETE FROM definition WHERE definition.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in link': Compiled("""DELETE FROM link WHERE link.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in object': Compiled("""DELETE FROM object WHERE object.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in payload': Compiled("""DELETE FROM payload WHERE payload.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in record_log': Compiled("""DELETE FROM record_log WHERE record_log.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in search': Compiled("""DELETE FROM search WHERE search.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in stream': Compiled("""DELETE FROM stream WHERE stream.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in stream_chunk': Compiled("""DELETE FROM stream_chunk WHERE stream_chunk.space = %s::BIGINT""", ('space',)),
    'erase all rows of a space in turn': Compiled("""DELETE FROM turn WHERE turn.space = %s::BIGINT""", ('space',)),
    'erased turns without a receipt': Compiled("""SELECT turn.id 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.erased IS NOT NULL AND NOT (EXISTS (SELECT * 
FROM erasure 
WHERE erasure.space = %s::BIGINT AND erasure.number = turn.erased)) ORDER BY turn.id""", ('space', 'space')),
    'erasures of a range of changes': Compiled("""SELECT erasure.change, erasure.seq, erasure.milliseconds, erasure.hash, erasure.number, erasure.id, erasure.receipt 
FROM erasure 
WHERE erasure.space = %s::BIGINT AND erasure.change > %s::BIGINT AND erasure.change <= %s::BIGINT""", ('space', 'low', 'high')),
    'erasures of turns at places': Compiled("""WITH wanted AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos)
 SELECT wanted.chain, wanted.pos, turn.erased 
FROM wanted LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = wanted.chain AND turn.pos = wanted.pos""", ('chain0', 'pos0', 'chain1', 'pos1', 'chain2', 'pos2', 'chain3', 'pos3', 'chain4', 'pos4', 'chain5', 'pos5', 'chain6', 'pos6', 'chain7', 'pos7', 'chain8', 'pos8', 'chain9', 'pos9', 'chain10', 'pos10', 'chain11', 'pos11', 'chain12', 'pos12', 'chain13', 'pos13', 'chain14', 'pos14', 'chain15', 'pos15', 'chain16', 'pos16', 'chain17', 'pos17', 'chain18', 'pos18', 'chain19', 'pos19', 'chain20', 'pos20', 'chain21', 'pos21', 'chain22', 'pos22', 'chain23', 'pos23', 'chain24', 'pos24', 'chain25', 'pos25', 'chain26', 'pos26', 'chain27', 'pos27', 'chain28', 'pos28', 'chain29', 'pos29', 'chain30', 'pos30', 'chain31', 'pos31', 'chain32', 'pos32', 'chain33', 'pos33', 'chain34', 'pos34', 'chain35', 'pos35', 'chain36', 'pos36', 'chain37', 'pos37', 'chain38', 'pos38', 'chain39', 'pos39', 'chain40', 'pos40', 'chain41', 'pos41', 'chain42', 'pos42', 'chain43', 'pos43', 'chain44', 'pos44', 'chain45', 'pos45', 'chain46', 'pos46', 'chain47', 'pos47', 'chain48', 'pos48', 'chain49', 'pos49', 'chain50', 'pos50', 'chain51', 'pos51', 'chain52', 'pos52', 'chain53', 'pos53', 'chain54', 'pos54', 'chain55', 'pos55', 'chain56', 'pos56', 'chain57', 'pos57', 'chain58', 'pos58', 'chain59', 'pos59', 'chain60', 'pos60', 'chain61', 'pos61', 'chain62', 'pos62', 'chain63', 'pos63', 'space')),
    'find bookmark': Compiled("""SELECT bookmark.chain, bookmark.pos, bookmark.move, bookmark.running 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT AND bookmark.name = %s""", ('space', 'name')),
    'find bookmarks': Compiled("""SELECT bookmark.name, bookmark.chain, bookmark.pos, bookmark.move, bookmark.running 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT AND bookmark.name IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'find bookmarks at a place': Compiled("""SELECT name FROM bookmark WHERE space = %s AND chain = %s AND pos = %s AND own = 0 UNION ALL SELECT name FROM bookmark WHERE space = %s AND name = %s AND chain = %s AND pos = %s AND own = 1 ORDER BY name LIMIT %s""", ('space', 'chain', 'pos', 'space', 'head', 'chain', 'pos', 'limit')),
    'find definition': Compiled("""SELECT definition.name, definition.number, definition.hash, coalesce(definition.data, payload.data) AS coalesce_1, definition.milliseconds, definition.running 
FROM definition LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = definition.hash AND definition.data IS NULL 
WHERE definition.space = %s::BIGINT AND definition.kind = %s::VARCHAR AND definition.name = %s AND definition.number = (SELECT max(later.number) AS max_1 
FROM definition AS later 
WHERE later.space = %s::BIGINT AND later.kind = %s::VARCHAR AND later.name = definition.name)""", ('space', 'space', 'kind', 'name', 'space', 'kind')),
    'find object': Compiled("""SELECT object.kind, object.key, object.revision, object.data, object.milliseconds 
FROM object 
WHERE object.space = %s::BIGINT AND object.kind = %s::VARCHAR AND object.key = %s""", ('space', 'kind', 'key')),
    'find space': Compiled("""SELECT space.id 
FROM space 
WHERE space.name = %s""", ('name',)),
    'first move of a bookmark': Compiled("""SELECT bookmark_log.running 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = %s AND bookmark_log.move = 1""", ('space', 'name')),
    'first moves of all bookmarks': Compiled("""SELECT bookmark_log.name, bookmark_log.running 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.move = 1 ORDER BY bookmark_log.name""", ('space',)),
    'first rows of bookmark': Compiled("""SELECT bookmark.name, bookmark.chain, bookmark.pos, bookmark.move, bookmark.recent, bookmark.own, bookmark.running 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT ORDER BY bookmark.name 
 LIMIT %s""", ('space', 'limit')),
    'first rows of bookmark_log': Compiled("""SELECT bookmark_log.name, bookmark_log.move, bookmark_log.chain, bookmark_log.pos, bookmark_log.milliseconds, bookmark_log.seq, bookmark_log.change, bookmark_log.running, bookmark_log.was 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT ORDER BY bookmark_log.name, bookmark_log.move 
 LIMIT %s""", ('space', 'limit')),
    'first rows of conversation': Compiled("""SELECT conversation.subject, conversation.revision, conversation.archived, conversation.pinned, conversation.key, conversation.data, conversation.milliseconds 
FROM conversation 
WHERE conversation.space = %s::BIGINT ORDER BY conversation.subject 
 LIMIT %s""", ('space', 'limit')),
    'first rows of definition': Compiled("""SELECT definition.kind, definition.name, definition.number, definition.hash, definition.data, definition.milliseconds, definition.seq, definition.change, definition.running 
FROM definition 
WHERE definition.space = %s::BIGINT ORDER BY definition.kind, definition.name, definition.number 
 LIMIT %s""", ('space', 'limit')),
    'first rows of erasure': Compiled("""SELECT erasure.number, erasure.change, erasure.seq, erasure.id, erasure.receipt, erasure.before, erasure.hash, erasure.milliseconds 
FROM erasure 
WHERE erasure.space = %s::BIGINT ORDER BY erasure.number 
 LIMIT %s""", ('space', 'limit')),
    'first rows of link': Compiled("""SELECT link.chain, link.ordinal, link.parent_chain, link.parent_pos 
FROM link 
WHERE link.space = %s::BIGINT ORDER BY link.chain, link.ordinal 
 LIMIT %s""", ('space', 'limit')),
    'first rows of object': Compiled("""SELECT object.kind, object.key, object.revision, object.data, object.milliseconds 
FROM object 
WHERE object.space = %s::BIGINT ORDER BY object.kind, object.key 
 LIMIT %s""", ('space', 'limit')),
    'first rows of payload': Compiled("""SELECT payload.hash, payload.size, payload.data, payload.erased 
FROM payload 
WHERE payload.space = %s::BIGINT ORDER BY payload.hash 
 LIMIT %s""", ('space', 'limit')),
    'first rows of record_log': Compiled("""SELECT record_log.change, record_log.seq, record_log.subject, record_log.milliseconds 
FROM record_log 
WHERE record_log.space = %s::BIGINT ORDER BY record_log.change 
 LIMIT %s""", ('space', 'limit')),
    'first rows of stream': Compiled("""SELECT stream.id, stream.about, stream.expires, stream.outcome, stream.turn 
FROM stream 
WHERE stream.space = %s::BIGINT ORDER BY stream.id 
 LIMIT %s""", ('space', 'limit')),
    'first rows of stream_chunk': Compiled("""SELECT stream_chunk.stream, stream_chunk.number, stream_chunk.data 
FROM stream_chunk 
WHERE stream_chunk.space = %s::BIGINT ORDER BY stream_chunk.stream, stream_chunk.number 
 LIMIT %s""", ('space', 'limit')),
    'first rows of turn': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.data, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT ORDER BY turn.chain, turn.pos 
 LIMIT %s""", ('space', 'limit')),
    'first turn of a conversation': Compiled("""WITH RECURSIVE path(chain, pos) AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT link.parent_chain AS parent_chain, link.parent_pos AS parent_pos 
FROM link, path 
WHERE link.space = %s::BIGINT AND link.chain = path.chain AND link.ordinal = 0 AND link.parent_chain < path.chain), 
places AS 
(SELECT path.chain AS chain, (SELECT other.pos 
FROM turn AS other 
WHERE other.space = %s::BIGINT AND other.chain = path.chain AND other.pos <= path.pos AND other.role != 'system' AND other.role != 'developer' ORDER BY other.pos 
 LIMIT %s::INTEGER) AS pos 
FROM path), 
first AS 
(SELECT places.chain AS chain, places.pos AS pos 
FROM places 
WHERE places.pos IS NOT NULL ORDER BY places.chain 
 LIMIT %s::INTEGER)
 SELECT turn.chain, turn.pos, turn.id 
FROM first LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = first.chain AND turn.pos = first.pos""", ('chain', 'pos', 'space', 'space', 'param_1', 'param_2', 'space'), {'param_1': 1, 'param_2': 1}),
    'forget how far the search index is': Compiled("""DELETE FROM search WHERE space = %s""", ('space',)),
    'forget streams that ended long ago': Compiled("""DELETE FROM stream WHERE stream.space = %s::BIGINT AND stream.outcome IS NOT NULL AND stream.expires < %s::BIGINT""", ('space', 'past')),
    'forget that bookmarks had a name before': Compiled("""UPDATE bookmark_log SET was=NULL WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.change IS NOT NULL AND bookmark_log.was = %s""", ('space', 'was')),
    'forget the names of a space': Compiled("""DELETE FROM space_log WHERE space_log.space = %s::BIGINT""", ('space',)),
    'give what was said of a conversation another subject in its log': Compiled("""UPDATE record_log SET subject=%s WHERE record_log.space = %s::BIGINT AND record_log.subject = %s""", ('to_subject', 'space', 'subject')),
    'heads at the ends of chains, and names in them': Compiled("""WITH wanted(chain) AS (SELECT CAST(value AS bigint) AS chain FROM json_array_elements_text(CAST(%s AS json))), ends(chain, pos) AS (SELECT w.chain, (SELECT max(o.pos) FROM turn AS o WHERE o.space = %s AND o.chain = w.chain) FROM wanted AS w) SELECT ends.chain, ends.pos, t.id, NULL AS name FROM ends LEFT JOIN turn AS t ON t.space = %s AND t.chain = ends.chain AND t.pos = ends.pos WHERE NOT EXISTS (SELECT 1 FROM link AS l WHERE l.space = %s AND l.parent_chain = ends.chain AND l.parent_pos = ends.pos) UNION ALL SELECT b.chain, b.pos, NULL, b.name FROM bookmark AS b WHERE b.space = %s AND b.chain IN (SELECT chain FROM wanted)""", ('chains', 'space', 'space', 'space', 'space')),
    'highest revision of the objects whose keys begin so, and of what was removed of their kind': Compiled("""SELECT max(object.revision) AS max_1 
FROM object 
WHERE object.space = %s::BIGINT AND object.kind = %s::VARCHAR AND (object.key >= %s AND object.key < %s OR object.key = %s)""", ('space', 'kind', 'low', 'high', 'removed')),
    'history of a bookmark': Compiled("""SELECT bookmark_log.move, turn.id, bookmark_log.milliseconds 
FROM bookmark_log LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = bookmark_log.chain AND turn.pos = bookmark_log.pos 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = %s ORDER BY bookmark_log.move DESC""", ('space', 'space', 'name')),
    'history of a definition': Compiled("""SELECT definition.name, definition.number, definition.hash, coalesce(definition.data, payload.data) AS coalesce_1, definition.milliseconds, definition.running 
FROM definition LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = definition.hash AND definition.data IS NULL 
WHERE definition.space = %s::BIGINT AND definition.kind = %s::VARCHAR AND definition.name = %s ORDER BY definition.number DESC""", ('space', 'space', 'kind', 'name')),
    'how far a space is': Compiled("""SELECT counter.seq, counter.change, counter.epoch, counter.state 
FROM counter 
WHERE counter.space = %s::BIGINT""", ('space',)),
    'how far the search index is': Compiled("""SELECT search.seq, search.version, search.emptied 
FROM search 
WHERE search.space = %s::BIGINT""", ('space',)),
    'how many definitions have each of some addresses': Compiled("""SELECT definition.hash, count(*) AS count_1 
FROM definition 
WHERE definition.space = %s::BIGINT AND definition.hash IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) GROUP BY definition.hash""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'how many moves a bookmark has': Compiled("""SELECT count(*) AS count_1 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = %s""", ('space', 'name')),
    'how many rows this connection has changed': Compiled("""SELECT 0""", ()),
    'how many turns continue each of some places': Compiled("""WITH wanted AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos)
 SELECT wanted.chain, wanted.pos, (SELECT count(*) AS count_1 
FROM link 
WHERE link.space = %s::BIGINT AND link.parent_chain = wanted.chain AND link.parent_pos = wanted.pos) + CASE WHEN (other.pos IS NULL) THEN 0 ELSE 1 END AS anon_1 
FROM wanted LEFT OUTER JOIN turn AS other ON other.space = %s::BIGINT AND other.chain = wanted.chain AND other.pos = wanted.pos + 1""", ('chain0', 'pos0', 'chain1', 'pos1', 'chain2', 'pos2', 'chain3', 'pos3', 'chain4', 'pos4', 'chain5', 'pos5', 'chain6', 'pos6', 'chain7', 'pos7', 'chain8', 'pos8', 'chain9', 'pos9', 'chain10', 'pos10', 'chain11', 'pos11', 'chain12', 'pos12', 'chain13', 'pos13', 'chain14', 'pos14', 'chain15', 'pos15', 'chain16', 'pos16', 'chain17', 'pos17', 'chain18', 'pos18', 'chain19', 'pos19', 'chain20', 'pos20', 'chain21', 'pos21', 'chain22', 'pos22', 'chain23', 'pos23', 'chain24', 'pos24', 'chain25', 'pos25', 'chain26', 'pos26', 'chain27', 'pos27', 'chain28', 'pos28', 'chain29', 'pos29', 'chain30', 'pos30', 'chain31', 'pos31', 'chain32', 'pos32', 'chain33', 'pos33', 'chain34', 'pos34', 'chain35', 'pos35', 'chain36', 'pos36', 'chain37', 'pos37', 'chain38', 'pos38', 'chain39', 'pos39', 'chain40', 'pos40', 'chain41', 'pos41', 'chain42', 'pos42', 'chain43', 'pos43', 'chain44', 'pos44', 'chain45', 'pos45', 'chain46', 'pos46', 'chain47', 'pos47', 'chain48', 'pos48', 'chain49', 'pos49', 'chain50', 'pos50', 'chain51', 'pos51', 'chain52', 'pos52', 'chain53', 'pos53', 'chain54', 'pos54', 'chain55', 'pos55', 'chain56', 'pos56', 'chain57', 'pos57', 'chain58', 'pos58', 'chain59', 'pos59', 'chain60', 'pos60', 'chain61', 'pos61', 'chain62', 'pos62', 'chain63', 'pos63', 'space', 'space')),
    'how many turns may match, the newest up to a limit': Compiled("""SELECT count(*), coalesce(min(seq), 0) FROM (SELECT seq FROM (SELECT seq FROM search_text WHERE space = %s AND words @@ CAST(replace(replace(replace(replace(CAST(%s AS text), ' AND ', ' & '), ' OR ', ' | '), '" *', ''':*'), '"', '''') AS tsquery) AND seq > %s AND seq < %s OFFSET 0) AS found ORDER BY seq DESC LIMIT %s) AS found""", ('space', 'question', 'low', 'high', 'limit')),
    'how many turns of a range are erased': Compiled("""SELECT count(*) AS count_1 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos BETWEEN %s::BIGINT AND %s::BIGINT AND turn.erased IS NOT NULL""", ('space', 'chain', 'low', 'high')),
    'how many turns say that they moved a name': Compiled("""SELECT count(*) AS count_1 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.head = %s""", ('space', 'name')),
    'how many words the search index has, and of which turns': Compiled("""SELECT coalesce(sum(length(words)), 0), coalesce(sum(length(words) * seq), 0) FROM search_text WHERE space = %s""", ('space',)),
    'how often the logs say that turns moved each name': Compiled("""SELECT turn.head, count(*) AS count_1 
FROM bookmark_log JOIN turn ON turn.space = %s::BIGINT AND turn.chain = bookmark_log.chain AND turn.pos = bookmark_log.pos 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.change IS NULL AND turn.head IS NOT NULL GROUP BY turn.head""", ('space', 'space')),
    'how often turns moved each name': Compiled("""SELECT turn.head, count(*) AS count_1 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.head IS NOT NULL GROUP BY turn.head""", ('space',)),
    'how the search index is merged': Compiled("""SELECT 1""", ()),
    'ids of the last turns of a chain in which a name ends, and what was erased of them': Compiled("""SELECT turn.id, turn.erased 
FROM bookmark JOIN turn ON turn.space = %s::BIGINT AND turn.chain = bookmark.chain 
WHERE bookmark.space = %s::BIGINT AND bookmark.name = %s AND turn.pos BETWEEN bookmark.pos - %s::BIGINT AND bookmark.pos ORDER BY turn.pos""", ('space', 'space', 'name', 'before')),
    'ids of the turns of a range, and what was erased of them': Compiled("""SELECT turn.id, turn.erased 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos BETWEEN %s::BIGINT AND %s::BIGINT ORDER BY turn.pos""", ('space', 'chain', 'low', 'high')),
    'ids of what turns continue': Compiled("""WITH wanted AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos)
 SELECT wanted.chain, wanted.pos, 0, (SELECT turn.id 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = wanted.chain AND turn.pos = wanted.pos - 1) AS anon_1 
FROM wanted 
WHERE wanted.pos > 0 UNION ALL SELECT link.chain, 0, link.ordinal, (SELECT turn.id 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = link.parent_chain AND turn.pos = link.parent_pos) AS anon_2 
FROM link 
WHERE link.space = %s::BIGINT AND link.chain IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('chain0', 'pos0', 'chain1', 'pos1', 'chain2', 'pos2', 'chain3', 'pos3', 'chain4', 'pos4', 'chain5', 'pos5', 'chain6', 'pos6', 'chain7', 'pos7', 'chain8', 'pos8', 'chain9', 'pos9', 'chain10', 'pos10', 'chain11', 'pos11', 'chain12', 'pos12', 'chain13', 'pos13', 'chain14', 'pos14', 'chain15', 'pos15', 'chain16', 'pos16', 'chain17', 'pos17', 'chain18', 'pos18', 'chain19', 'pos19', 'chain20', 'pos20', 'chain21', 'pos21', 'chain22', 'pos22', 'chain23', 'pos23', 'chain24', 'pos24', 'chain25', 'pos25', 'chain26', 'pos26', 'chain27', 'pos27', 'chain28', 'pos28', 'chain29', 'pos29', 'chain30', 'pos30', 'chain31', 'pos31', 'chain32', 'pos32', 'chain33', 'pos33', 'chain34', 'pos34', 'chain35', 'pos35', 'chain36', 'pos36', 'chain37', 'pos37', 'chain38', 'pos38', 'chain39', 'pos39', 'chain40', 'pos40', 'chain41', 'pos41', 'chain42', 'pos42', 'chain43', 'pos43', 'chain44', 'pos44', 'chain45', 'pos45', 'chain46', 'pos46', 'chain47', 'pos47', 'chain48', 'pos48', 'chain49', 'pos49', 'chain50', 'pos50', 'chain51', 'pos51', 'chain52', 'pos52', 'chain53', 'pos53', 'chain54', 'pos54', 'chain55', 'pos55', 'chain56', 'pos56', 'chain57', 'pos57', 'chain58', 'pos58', 'chain59', 'pos59', 'chain60', 'pos60', 'chain61', 'pos61', 'chain62', 'pos62', 'chain63', 'pos63', 'space', 'space', 'space', 'chain0', 'chain1', 'chain2', 'chain3', 'chain4', 'chain5', 'chain6', 'chain7', 'chain8', 'chain9', 'chain10', 'chain11', 'chain12', 'chain13', 'chain14', 'chain15', 'chain16', 'chain17', 'chain18', 'chain19', 'chain20', 'chain21', 'chain22', 'chain23', 'chain24', 'chain25', 'chain26', 'chain27', 'chain28', 'chain29', 'chain30', 'chain31', 'chain32', 'chain33', 'chain34', 'chain35', 'chain36', 'chain37', 'chain38', 'chain39', 'chain40', 'chain41', 'chain42', 'chain43', 'chain44', 'chain45', 'chain46', 'chain47', 'chain48', 'chain49', 'chain50', 'chain51', 'chain52', 'chain53', 'chain54', 'chain55', 'chain56', 'chain57', 'chain58', 'chain59', 'chain60', 'chain61', 'chain62', 'chain63')),
    'ids that are known': Compiled("""SELECT turn.id 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.id IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'journal a chunk': Compiled("""INSERT INTO stream_chunk (space, stream, number, data) VALUES (%s::BIGINT, %s::VARCHAR, %s::BIGINT, %s)""", ('space', 'stream', 'number', 'data')),
    'journal of a stream': Compiled("""SELECT stream_chunk.data 
FROM stream_chunk 
WHERE stream_chunk.space = %s::BIGINT AND stream_chunk.stream = %s::VARCHAR ORDER BY stream_chunk.number""", ('space', 'id')),
    'large payload of a turn': Compiled("""SELECT payload.data 
FROM turn JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos = %s::BIGINT""", ('space', 'space', 'chain', 'pos')),
    'last move of a bookmark': Compiled("""SELECT bookmark.move 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT AND bookmark.name = %s""", ('space', 'name')),
    'last name of a space': Compiled("""SELECT space_log.number, space_log.running 
FROM space_log 
WHERE space_log.space = %s::BIGINT ORDER BY space_log.number DESC 
 LIMIT %s::INTEGER""", ('space', 'param_1'), {'param_1': 1}),
    'last position of a chain, and whether a place of it is continued': Compiled("""SELECT chain_end.pos, CASE WHEN (chain_end.pos = %s::BIGINT) THEN EXISTS (SELECT * 
FROM link 
WHERE link.space = %s::BIGINT AND link.parent_chain = %s::BIGINT AND link.parent_pos = %s::BIGINT) ELSE true END AS anon_1 
FROM (SELECT max(turn.pos) AS pos 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT) AS chain_end""", ('pos', 'space', 'chain', 'pos', 'space', 'chain')),
    'last receipt': Compiled("""SELECT erasure.number, erasure.hash, erasure.receipt 
FROM erasure 
WHERE erasure.space = %s::BIGINT ORDER BY erasure.number DESC 
 LIMIT %s::INTEGER""", ('space', 'param_1'), {'param_1': 1}),
    'last turns of chains, the youngest chain first': Compiled("""WITH RECURSIVE below(chain, number) AS 
(SELECT max(turn.chain) AS chain, 1 AS number 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain < %s::BIGINT UNION ALL SELECT (SELECT max(other.chain) AS max_2 
FROM turn AS other 
WHERE other.space = %s::BIGINT AND other.chain < below.chain) AS anon_2, below.number + 1 AS anon_3 
FROM below 
WHERE below.chain IS NOT NULL AND below.number < %s::INTEGER), 
ends AS 
(SELECT below.chain AS chain, (SELECT max(other.pos) AS max_1 
FROM turn AS other 
WHERE other.space = %s::BIGINT AND other.chain = below.chain) AS pos 
FROM below)
 SELECT (SELECT link.chain 
FROM link 
WHERE link.space = %s::BIGINT AND link.parent_chain = ends.chain AND link.parent_pos = ends.pos 
 LIMIT %s::INTEGER) AS anon_1, turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM ends LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = ends.chain AND turn.pos = ends.pos""", ('space', 'before', 'space', 'limit', 'space', 'space', 'param_1', 'space'), {'param_1': 1}),
    'leave what is freed': Compiled("""SELECT 1""", ()),
    'lengths of the chains of a tree': Compiled("""WITH RECURSIVE up(chain) AS 
(SELECT CAST(%s AS BIGINT) AS chain UNION SELECT link.parent_chain AS parent_chain 
FROM link, up 
WHERE link.space = %s::BIGINT AND link.chain = up.chain), 
down(chain) AS 
(SELECT up.chain AS chain 
FROM up UNION SELECT link.chain AS chain 
FROM link, down 
WHERE link.space = %s::BIGINT AND link.parent_chain = down.chain)
 SELECT (SELECT max(turn.pos) + 1 AS anon_2 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = down.chain) AS anon_1 
FROM down 
 LIMIT %s""", ('chain', 'space', 'space', 'space', 'limit')),
    'links into a chain': Compiled("""SELECT link.parent_pos, link.chain 
FROM link 
WHERE link.space = %s::BIGINT AND link.parent_chain = %s::BIGINT AND link.parent_pos <= %s::BIGINT""", ('space', 'chain', 'pos')),
    'links of a chain': Compiled("""SELECT link.parent_chain, link.parent_pos 
FROM link 
WHERE link.space = %s::BIGINT AND link.chain = %s::BIGINT ORDER BY link.ordinal""", ('space', 'chain')),
    'links of a range of chains': Compiled("""SELECT link.chain, link.ordinal, link.parent_chain, link.parent_pos, turn.id, turn.digest, turn.seq 
FROM link LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = link.parent_chain AND turn.pos = link.parent_pos 
WHERE link.space = %s::BIGINT AND link.chain BETWEEN %s::BIGINT AND %s::BIGINT ORDER BY link.chain, link.ordinal""", ('space', 'space', 'low', 'high')),
    'links of a tree': Compiled("""WITH RECURSIVE up(chain) AS 
(SELECT CAST(%s AS BIGINT) AS chain UNION SELECT link.parent_chain AS parent_chain 
FROM link, up 
WHERE link.space = %s::BIGINT AND link.chain = up.chain), 
down(chain) AS 
(SELECT up.chain AS chain 
FROM up UNION SELECT link.chain AS chain 
FROM link, down 
WHERE link.space = %s::BIGINT AND link.parent_chain = down.chain)
 SELECT link.chain, link.parent_chain, link.parent_pos 
FROM link 
WHERE link.space = %s::BIGINT AND link.chain IN (SELECT down.chain 
FROM down) ORDER BY link.chain, link.ordinal""", ('chain', 'space', 'space', 'space')),
    'links of chains without a first turn': Compiled("""SELECT link.chain, link.ordinal 
FROM link 
WHERE link.space = %s::BIGINT AND NOT (EXISTS (SELECT * 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = link.chain AND turn.pos = %s::BIGINT)) ORDER BY link.chain, link.ordinal""", ('space', 'space', 'pos_1'), {'pos_1': 0}),
    'links that lead to a place': Compiled("""WITH RECURSIVE reach(chain, pos) AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION SELECT link.parent_chain AS parent_chain, link.parent_pos AS parent_pos 
FROM link, reach 
WHERE link.space = %s::BIGINT AND link.chain = reach.chain)
 SELECT link.chain, link.parent_chain, link.parent_pos 
FROM link 
WHERE link.space = %s::BIGINT AND link.chain IN (SELECT reach.chain 
FROM reach) ORDER BY link.chain, link.ordinal""", ('chain', 'pos', 'space', 'space')),
    'links that lead to some places': Compiled("""WITH RECURSIVE places AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos), 
reach(chain, pos) AS 
(SELECT places.chain AS chain, places.pos AS pos 
FROM places UNION SELECT link.parent_chain AS parent_chain, link.parent_pos AS parent_pos 
FROM link, reach 
WHERE link.space = %s::BIGINT AND link.chain = reach.chain)
 SELECT link.chain, link.parent_chain, link.parent_pos 
FROM link 
WHERE link.space = %s::BIGINT AND link.chain IN (SELECT reach.chain 
FROM reach) ORDER BY link.chain, link.ordinal""", ('chain0', 'pos0', 'chain1', 'pos1', 'chain2', 'pos2', 'chain3', 'pos3', 'chain4', 'pos4', 'chain5', 'pos5', 'chain6', 'pos6', 'chain7', 'pos7', 'chain8', 'pos8', 'chain9', 'pos9', 'chain10', 'pos10', 'chain11', 'pos11', 'chain12', 'pos12', 'chain13', 'pos13', 'chain14', 'pos14', 'chain15', 'pos15', 'chain16', 'pos16', 'chain17', 'pos17', 'chain18', 'pos18', 'chain19', 'pos19', 'chain20', 'pos20', 'chain21', 'pos21', 'chain22', 'pos22', 'chain23', 'pos23', 'chain24', 'pos24', 'chain25', 'pos25', 'chain26', 'pos26', 'chain27', 'pos27', 'chain28', 'pos28', 'chain29', 'pos29', 'chain30', 'pos30', 'chain31', 'pos31', 'chain32', 'pos32', 'chain33', 'pos33', 'chain34', 'pos34', 'chain35', 'pos35', 'chain36', 'pos36', 'chain37', 'pos37', 'chain38', 'pos38', 'chain39', 'pos39', 'chain40', 'pos40', 'chain41', 'pos41', 'chain42', 'pos42', 'chain43', 'pos43', 'chain44', 'pos44', 'chain45', 'pos45', 'chain46', 'pos46', 'chain47', 'pos47', 'chain48', 'pos48', 'chain49', 'pos49', 'chain50', 'pos50', 'chain51', 'pos51', 'chain52', 'pos52', 'chain53', 'pos53', 'chain54', 'pos54', 'chain55', 'pos55', 'chain56', 'pos56', 'chain57', 'pos57', 'chain58', 'pos58', 'chain59', 'pos59', 'chain60', 'pos60', 'chain61', 'pos61', 'chain62', 'pos62', 'chain63', 'pos63', 'space', 'space')),
    'list bookmarks by name': Compiled("""SELECT bookmark.name, turn.id, bookmark.chain, bookmark.pos 
FROM bookmark, turn 
WHERE bookmark.space = %s::BIGINT AND bookmark.name >= %s AND bookmark.name < %s AND turn.space = %s::BIGINT AND turn.chain = bookmark.chain AND turn.pos = bookmark.pos AND bookmark.name > %s ORDER BY bookmark.name 
 LIMIT %s""", ('space', 'low', 'high', 'space', 'after', 'limit')),
    'list bookmarks, the last moved first': Compiled("""SELECT bookmark.name, turn.id, bookmark.chain, bookmark.pos 
FROM bookmark, turn 
WHERE bookmark.space = %s::BIGINT AND bookmark.name >= %s AND bookmark.name < %s AND turn.space = %s::BIGINT AND turn.chain = bookmark.chain AND turn.pos = bookmark.pos AND bookmark.recent >= 0 AND (bookmark.recent, bookmark.name) < (%s::BIGINT, %s) ORDER BY bookmark.recent DESC, bookmark.name DESC 
 LIMIT %s""", ('space', 'low', 'high', 'space', 'recent', 'after', 'limit')),
    'list definitions': Compiled("""SELECT definition.name, definition.number, definition.hash, coalesce(definition.data, payload.data) AS coalesce_1, definition.milliseconds, definition.running 
FROM definition LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = definition.hash AND definition.data IS NULL 
WHERE definition.space = %s::BIGINT AND definition.kind = %s::VARCHAR AND definition.hash IS NOT NULL AND definition.number = (SELECT max(later.number) AS max_1 
FROM definition AS later 
WHERE later.space = %s::BIGINT AND later.kind = %s::VARCHAR AND later.name = definition.name) ORDER BY definition.name""", ('space', 'space', 'kind', 'space', 'kind')),
    'list objects': Compiled("""SELECT object.kind, object.key, object.revision, object.data, object.milliseconds 
FROM object 
WHERE object.space = %s::BIGINT AND object.kind = %s::VARCHAR AND object.key > %s AND object.key >= %s AND object.key < %s ORDER BY object.key 
 LIMIT %s""", ('space', 'kind', 'after', 'low', 'high', 'limit')),
    'list objects, the last key first': Compiled("""SELECT object.kind, object.key, object.revision, object.data, object.milliseconds 
FROM object 
WHERE object.space = %s::BIGINT AND object.kind = %s::VARCHAR AND object.key >= %s AND object.key < %s ORDER BY object.key DESC 
 LIMIT %s""", ('space', 'kind', 'low', 'high', 'limit')),
    'list spaces': Compiled("""SELECT space.name 
FROM space 
WHERE space.name > %s ORDER BY space.name 
 LIMIT %s""", ('after', 'limit')),
    'lock a stream': Compiled("""SELECT stream.id, stream.about, stream.expires, stream.outcome, stream.turn 
FROM stream 
WHERE stream.space = %s::BIGINT AND stream.id = %s::VARCHAR FOR UPDATE""", ('space', 'id')),
    'lock the counter of a space': Compiled("""SELECT counter.seq 
FROM counter 
WHERE counter.space = %s::BIGINT FOR UPDATE""", ('space',)),
    'lock the space': Compiled("""SELECT counter.seq, counter.change 
FROM counter 
WHERE counter.space = %s::BIGINT AND counter.state IS NULL FOR UPDATE""", ('space',)),
    'log a move': Compiled("""INSERT INTO bookmark_log (space, name, move, chain, pos, milliseconds, seq, change, running, was) VALUES (%s::BIGINT, %s, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s, %s)""", ('space', 'name', 'move', 'chain', 'pos', 'milliseconds', 'seq', 'change', 'running', 'was')),
    'log of a bookmark at a move': Compiled("""SELECT bookmark_log.move, bookmark_log.chain, bookmark_log.pos, bookmark_log.milliseconds 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = %s AND bookmark_log.move = %s::BIGINT""", ('space', 'name', 'move')),
    'log of a bookmark at a time': Compiled("""SELECT bookmark_log.move, bookmark_log.chain, bookmark_log.pos, bookmark_log.milliseconds 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = %s AND bookmark_log.milliseconds <= %s::BIGINT ORDER BY bookmark_log.move DESC 
 LIMIT %s::INTEGER""", ('space', 'name', 'milliseconds', 'param_1'), {'param_1': 1}),
    'log that something was said of a conversation': Compiled("""INSERT INTO record_log (space, change, seq, subject, milliseconds) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s, %s::BIGINT)""", ('space', 'change', 'seq', 'subject', 'milliseconds')),
    'log the name of a space': Compiled("""INSERT INTO space_log (space, number, name, milliseconds, running) VALUES (%s::BIGINT, %s::BIGINT, %s, %s::BIGINT, %s)""", ('space', 'number', 'name', 'milliseconds', 'running')),
    'mark of a change': Compiled("""SELECT bookmark_log.running 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.change = %s::BIGINT UNION ALL SELECT definition.running 
FROM definition 
WHERE definition.space = %s::BIGINT AND definition.change = %s::BIGINT UNION ALL SELECT erasure.hash 
FROM erasure 
WHERE erasure.space = %s::BIGINT AND erasure.change = %s::BIGINT""", ('space', 'change', 'space', 'change', 'space', 'change')),
    'merge some of the search index': Compiled("""SELECT 1""", ()),
    'merge the search index': Compiled("""SELECT 1""", ()),
    'move bookmark': Compiled("""UPDATE bookmark SET chain=%s::BIGINT, pos=%s::BIGINT, move=%s::BIGINT, recent=%s::BIGINT, own=%s::SMALLINT, running=%s WHERE bookmark.space = %s::BIGINT AND bookmark.name = %s AND bookmark.move = %s::BIGINT""", ('to_chain', 'to_pos', 'to_move', 'to_recent', 'to_own', 'to_running', 'space', 'name', 'before')),
    'moves of a range of changes': Compiled("""SELECT bookmark_log.change, bookmark_log.seq, bookmark_log.milliseconds, bookmark_log.running, bookmark_log.name, bookmark_log.was, "old".id, turn.id AS id_1, bookmark_log.chain, bookmark_log.pos 
FROM bookmark_log LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = bookmark_log.chain AND turn.pos = bookmark_log.pos LEFT OUTER JOIN bookmark_log AS before ON before.space = %s::BIGINT AND before.name = bookmark_log.name AND before.move = bookmark_log.move - %s::BIGINT LEFT OUTER JOIN turn AS "old" ON "old".space = %s::BIGINT AND "old".chain = before.chain AND "old".pos = before.pos 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.change > %s::BIGINT AND bookmark_log.change <= %s::BIGINT""", ('space', 'space', 'move_1', 'space', 'space', 'low', 'high'), {'move_1': 1}),
    'moves of all bookmarks, a page': Compiled("""SELECT bookmark_log.name, bookmark_log.move, bookmark_log.chain, bookmark_log.pos, bookmark_log.milliseconds, bookmark_log.change, bookmark_log.running, bookmark_log.was, turn.id, turn.digest, turn.head, bookmark_log.seq, turn.seq AS seq_1, bookmark.chain AS chain_1, bookmark.pos AS pos_1, bookmark.move AS move_1, bookmark.own, bookmark.running AS running_1, (SELECT counter.seq 
FROM counter 
WHERE counter.space = %s::BIGINT) AS anon_1, turn.erased 
FROM bookmark_log LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = bookmark_log.chain AND turn.pos = bookmark_log.pos LEFT OUTER JOIN bookmark ON bookmark.space = %s::BIGINT AND bookmark.name = bookmark_log.name 
WHERE bookmark_log.space = %s::BIGINT AND (bookmark_log.name, bookmark_log.move) > (%s, %s) ORDER BY bookmark_log.name, bookmark_log.move 
 LIMIT %s""", ('space', 'space', 'space', 'space', 'name', 'move', 'limit')),
    'name of a space': Compiled("""SELECT space.name 
FROM space 
WHERE space.id = %s::BIGINT""", ('space',)),
    'names at the turns of a tree': Compiled("""WITH RECURSIVE up(chain) AS 
(SELECT CAST(%s AS BIGINT) AS chain UNION SELECT link.parent_chain AS parent_chain 
FROM link, up 
WHERE link.space = %s::BIGINT AND link.chain = up.chain), 
down(chain) AS 
(SELECT up.chain AS chain 
FROM up UNION SELECT link.chain AS chain 
FROM link, down 
WHERE link.space = %s::BIGINT AND link.parent_chain = down.chain)
 SELECT bookmark.name, bookmark.chain, bookmark.pos 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT AND bookmark.own = 0 AND bookmark.chain IN (SELECT down.chain 
FROM down) UNION ALL SELECT bookmark.name, bookmark.chain, bookmark.pos 
FROM (SELECT DISTINCT turn.head AS head 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain IN (SELECT down.chain 
FROM down) AND turn.head IS NOT NULL) AS heads LEFT OUTER JOIN bookmark ON bookmark.space = %s::BIGINT AND bookmark.name = heads.head AND bookmark.own = 1""", ('chain', 'space', 'space', 'space', 'space', 'space')),
    'names at the turns of ranges of chains': Compiled("""WITH wanted AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS low, CAST(%s AS BIGINT) AS high)
 SELECT bookmark.name, bookmark.chain, bookmark.pos 
FROM wanted LEFT OUTER JOIN bookmark ON bookmark.space = %s::BIGINT AND bookmark.own = 0 AND bookmark.chain = wanted.chain AND bookmark.pos >= wanted.low AND bookmark.pos <= wanted.high UNION ALL SELECT bookmark.name, bookmark.chain, bookmark.pos 
FROM (SELECT DISTINCT turn.head AS head 
FROM wanted LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = wanted.chain AND turn.pos >= wanted.low AND turn.pos <= wanted.high) AS heads LEFT OUTER JOIN bookmark ON bookmark.space = %s::BIGINT AND bookmark.name = heads.head AND bookmark.own = 1""", ('chain0', 'low0', 'high0', 'chain1', 'low1', 'high1', 'chain2', 'low2', 'high2', 'chain3', 'low3', 'high3', 'chain4', 'low4', 'high4', 'chain5', 'low5', 'high5', 'chain6', 'low6', 'high6', 'chain7', 'low7', 'high7', 'chain8', 'low8', 'high8', 'chain9', 'low9', 'high9', 'chain10', 'low10', 'high10', 'chain11', 'low11', 'high11', 'chain12', 'low12', 'high12', 'chain13', 'low13', 'high13', 'chain14', 'low14', 'high14', 'chain15', 'low15', 'high15', 'chain16', 'low16', 'high16', 'chain17', 'low17', 'high17', 'chain18', 'low18', 'high18', 'chain19', 'low19', 'high19', 'chain20', 'low20', 'high20', 'chain21', 'low21', 'high21', 'chain22', 'low22', 'high22', 'chain23', 'low23', 'high23', 'chain24', 'low24', 'high24', 'chain25', 'low25', 'high25', 'chain26', 'low26', 'high26', 'chain27', 'low27', 'high27', 'chain28', 'low28', 'high28', 'chain29', 'low29', 'high29', 'chain30', 'low30', 'high30', 'chain31', 'low31', 'high31', 'chain32', 'low32', 'high32', 'chain33', 'low33', 'high33', 'chain34', 'low34', 'high34', 'chain35', 'low35', 'high35', 'chain36', 'low36', 'high36', 'chain37', 'low37', 'high37', 'chain38', 'low38', 'high38', 'chain39', 'low39', 'high39', 'chain40', 'low40', 'high40', 'chain41', 'low41', 'high41', 'chain42', 'low42', 'high42', 'chain43', 'low43', 'high43', 'chain44', 'low44', 'high44', 'chain45', 'low45', 'high45', 'chain46', 'low46', 'high46', 'chain47', 'low47', 'high47', 'chain48', 'low48', 'high48', 'chain49', 'low49', 'high49', 'chain50', 'low50', 'high50', 'chain51', 'low51', 'high51', 'chain52', 'low52', 'high52', 'chain53', 'low53', 'high53', 'chain54', 'low54', 'high54', 'chain55', 'low55', 'high55', 'chain56', 'low56', 'high56', 'chain57', 'low57', 'high57', 'chain58', 'low58', 'high58', 'chain59', 'low59', 'high59', 'chain60', 'low60', 'high60', 'chain61', 'low61', 'high61', 'chain62', 'low62', 'high62', 'chain63', 'low63', 'high63', 'space', 'space', 'space')),
    'names in what grew from a turn': Compiled("""WITH RECURSIVE grown(chain, low) AS (SELECT CAST(%s AS BIGINT), CAST(%s AS BIGINT) UNION SELECT l.chain, 0 FROM grown JOIN link AS l ON l.space = %s AND l.parent_chain = grown.chain AND l.parent_pos >= grown.low) SELECT b.name FROM bookmark AS b WHERE b.space = %s AND b.chain IN (SELECT chain FROM grown) AND b.pos >= (SELECT min(low) FROM grown WHERE grown.chain = b.chain) ORDER BY b.name LIMIT %s""", ('chain', 'pos', 'space', 'space', 'limit')),
    'names of a space': Compiled("""SELECT space_log.number, space_log.name, space_log.milliseconds, space_log.running 
FROM space_log 
WHERE space_log.space = %s::BIGINT ORDER BY space_log.number""", ('space',)),
    'names that a bookmark had before': Compiled("""SELECT DISTINCT bookmark_log.was 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = %s AND bookmark_log.was IS NOT NULL ORDER BY bookmark_log.was""", ('space', 'name')),
    'names whose logs lead into a chain': Compiled("""SELECT DISTINCT bookmark_log.name, bookmark_log.pos 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.chain = %s::BIGINT AND bookmark_log.pos <= %s::BIGINT""", ('space', 'chain', 'pos')),
    'newest turn': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.seq = (SELECT counter.latest 
FROM counter 
WHERE counter.space = %s::BIGINT)""", ('space', 'space')),
    'numbers of all spaces': Compiled("""SELECT space.id 
FROM space ORDER BY space.id""", ()),
    'numbers of spaces': Compiled("""SELECT space.id, space.name 
FROM space 
WHERE space.name > %s ORDER BY space.id""", ('after',)),
    'objects of all kinds, a page': Compiled("""SELECT object.kind, object.key, object.revision, object.data, object.milliseconds 
FROM object 
WHERE object.space = %s::BIGINT AND (object.kind, object.key) > (%s, %s) ORDER BY object.kind, object.key 
 LIMIT %s""", ('space', 'kind', 'key', 'limit')),
    'open a restored space': Compiled("""UPDATE counter SET epoch=%s, state=%s::VARCHAR WHERE counter.space = %s::BIGINT AND counter.state = %s::VARCHAR""", ('random', 'became', 'space', 'mark')),
    'open a stream': Compiled("""INSERT INTO stream (space, id, about, expires) VALUES (%s::BIGINT, %s::VARCHAR, %s, %s::BIGINT)""", ('space', 'id', 'about', 'expires')),
    'open streams': Compiled("""SELECT stream.id, stream.about, stream.expires, stream.outcome, stream.turn 
FROM stream 
WHERE stream.space = %s::BIGINT AND stream.outcome IS NULL ORDER BY stream.id""", ('space',)),
    'overlays': Compiled("""SELECT turn.id, turn.attributes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.type = %s::VARCHAR""", ('space', 'overlay')),
    'overwrite what is freed': Compiled("""SELECT 1""", ()),
    'payloads after an address': Compiled("""SELECT payload.hash, payload.size, payload.data, payload.erased 
FROM payload 
WHERE payload.space = %s::BIGINT AND payload.hash > %s ORDER BY payload.hash 
 LIMIT %s""", ('space', 'hash', 'limit')),
    'payloads in the rows of a range': Compiled("""SELECT turn.pos, turn.data 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos BETWEEN %s::BIGINT AND %s::BIGINT AND turn.data IS NOT NULL""", ('space', 'chain', 'low', 'high')),
    'payloads that nothing names': Compiled("""SELECT p.hash, p.size FROM payload AS p WHERE p.space = %s AND p.erased IS NULL AND NOT EXISTS (SELECT 1 FROM turn AS t WHERE t.space = %s AND t.hash = p.hash AND t.erased IS NULL) AND NOT EXISTS (SELECT 1 FROM definition AS d WHERE d.space = %s AND d.hash = p.hash)""", ('space', 'space', 'space')),
    'places of turns by digests': Compiled("""WITH wanted AS 
(SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest)
 SELECT other.digest, other.seq, other.chain, other.pos 
FROM wanted JOIN turn AS other ON other.space = %s::BIGINT AND substr(other.digest, 1, 8) = substr(wanted.digest, 1, 8) AND other.digest = wanted.digest""", ('wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63', 'space')),
    'places of turns by their ids': Compiled("""SELECT turn.id, turn.chain, turn.pos 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.id IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'places that grew from a place, the nearest first': Compiled("""WITH RECURSIVE grown(chain, pos) AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION SELECT coalesce(turn.chain, link.chain) AS coalesce_1, coalesce(turn.pos, 0) AS coalesce_2 
FROM grown JOIN (SELECT 0 AS way UNION ALL SELECT 1 AS way) AS ways ON true LEFT OUTER JOIN turn ON ways.way = 0 AND turn.space = %s::BIGINT AND turn.chain = grown.chain AND turn.pos = grown.pos + 1 LEFT OUTER JOIN link ON ways.way = 1 AND link.space = %s::BIGINT AND link.parent_chain = grown.chain AND link.parent_pos = grown.pos 
WHERE turn.chain IS NOT NULL OR link.chain IS NOT NULL)
 SELECT grown.chain, grown.pos 
FROM grown 
 LIMIT %s""", ('chain', 'pos', 'space', 'space', 'limit')),
    'put a row of bookmark back': Compiled("""INSERT INTO bookmark (space, name, chain, pos, move, recent, own, running) VALUES (%s::BIGINT, %s, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::SMALLINT, %s)""", ('space', 'name', 'chain', 'pos', 'move', 'recent', 'own', 'running')),
    'put a row of bookmark_log back': Compiled("""INSERT INTO bookmark_log (space, name, move, chain, pos, milliseconds, seq, change, running, was) VALUES (%s::BIGINT, %s, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s, %s)""", ('space', 'name', 'move', 'chain', 'pos', 'milliseconds', 'seq', 'change', 'running', 'was')),
    'put a row of conversation back': Compiled("""INSERT INTO conversation (space, subject, revision, archived, pinned, key, data, milliseconds) VALUES (%s::BIGINT, %s, %s::BIGINT, %s::SMALLINT, %s::SMALLINT, %s, %s, %s::BIGINT)""", ('space', 'subject', 'revision', 'archived', 'pinned', 'key', 'data', 'milliseconds')),
    'put a row of definition back': Compiled("""INSERT INTO definition (space, kind, name, number, hash, data, milliseconds, seq, change, running) VALUES (%s::BIGINT, %s::VARCHAR, %s, %s::BIGINT, %s, %s, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s)""", ('space', 'kind', 'name', 'number', 'hash', 'data', 'milliseconds', 'seq', 'change', 'running')),
    'put a row of erasure back': Compiled("""INSERT INTO erasure (space, number, change, seq, id, receipt, before, hash, milliseconds) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::VARCHAR, %s, %s, %s, %s::BIGINT)""", ('space', 'number', 'change', 'seq', 'id', 'receipt', 'before', 'hash', 'milliseconds')),
    'put a row of link back': Compiled("""INSERT INTO link (space, chain, ordinal, parent_chain, parent_pos) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT)""", ('space', 'chain', 'ordinal', 'parent_chain', 'parent_pos')),
    'put a row of object back': Compiled("""INSERT INTO object (space, kind, key, revision, data, milliseconds) VALUES (%s::BIGINT, %s::VARCHAR, %s, %s::BIGINT, %s, %s::BIGINT)""", ('space', 'kind', 'key', 'revision', 'data', 'milliseconds')),
    'put a row of payload back': Compiled("""INSERT INTO payload (space, hash, size, data, erased) VALUES (%s::BIGINT, %s, %s::BIGINT, %s, %s::BIGINT)""", ('space', 'hash', 'size', 'data', 'erased')),
    'put a row of record_log back': Compiled("""INSERT INTO record_log (space, change, seq, subject, milliseconds) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s, %s::BIGINT)""", ('space', 'change', 'seq', 'subject', 'milliseconds')),
    'put a row of stream back': Compiled("""INSERT INTO stream (space, id, about, expires, outcome, turn) VALUES (%s::BIGINT, %s::VARCHAR, %s, %s::BIGINT, %s::VARCHAR, %s::VARCHAR)""", ('space', 'id', 'about', 'expires', 'outcome', 'turn')),
    'put a row of stream_chunk back': Compiled("""INSERT INTO stream_chunk (space, stream, number, data) VALUES (%s::BIGINT, %s::VARCHAR, %s::BIGINT, %s)""", ('space', 'stream', 'number', 'data')),
    'put a row of turn back': Compiled("""INSERT INTO turn (space, chain, pos, seq, id, role, type, content_type, cache, attributes, inherited, system, digest, hash, data, seal, head, app, erased, key, supersedes) VALUES (%s::BIGINT, %s::BIGINT, %s::BIGINT, %s::BIGINT, %s::VARCHAR, %s::VARCHAR, %s::VARCHAR, %s::VARCHAR, %s::SMALLINT, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s::BIGINT, %s, %s::VARCHAR)""", ('space', 'chain', 'pos', 'seq', 'id', 'role', 'type', 'content_type', 'cache', 'attributes', 'inherited', 'system', 'digest', 'hash', 'data', 'seal', 'head', 'app', 'erased', 'key', 'supersedes')),
    'put object': Compiled("""INSERT INTO object (space, kind, key, revision, data, milliseconds) VALUES (%s::BIGINT, %s::VARCHAR, %s, %s::BIGINT, %s, %s::BIGINT) ON CONFLICT (space, kind, key) DO UPDATE SET revision = excluded.revision, data = excluded.data, milliseconds = excluded.milliseconds""", ('space', 'kind', 'key', 'revision', 'data', 'milliseconds')),
    'read the counter of a space': Compiled("""SELECT counter.seq, counter.change, counter.latest, counter.roots, counter.heads, counter.given_bytes 
FROM counter 
WHERE counter.space = %s::BIGINT""", ('space',)),
    'read the payload of a turn': Compiled("""SELECT coalesce(turn.data, payload.data) AS coalesce_1 
FROM turn LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos = %s::BIGINT""", ('space', 'space', 'chain', 'pos')),
    'read what a space may hold': Compiled("""SELECT counter.limit_turns, counter.limit_bytes, counter.seq, counter.given_bytes 
FROM counter 
WHERE counter.space = %s::BIGINT""", ('space',)),
    'receipt by id': Compiled("""SELECT erasure.number 
FROM erasure 
WHERE erasure.space = %s::BIGINT AND erasure.id = %s::VARCHAR""", ('space', 'id')),
    'receipt of an erasure': Compiled("""SELECT erasure.receipt 
FROM erasure 
WHERE erasure.space = %s::BIGINT AND erasure.number = %s::BIGINT""", ('space', 'number')),
    'receipts after a number': Compiled("""SELECT erasure.space, erasure.number, erasure.change, erasure.seq, erasure.id, erasure.receipt, erasure.before, erasure.hash, erasure.milliseconds 
FROM erasure 
WHERE erasure.space = %s::BIGINT AND erasure.number > %s::BIGINT ORDER BY erasure.number 
 LIMIT %s""", ('space', 'number', 'limit')),
    'remove all rows of bookmark': Compiled("""DELETE FROM bookmark WHERE bookmark.space = %s::BIGINT""", ('space',)),
    'remove all rows of bookmark_log': Compiled("""DELETE FROM bookmark_log WHERE bookmark_log.space = %s::BIGINT""", ('space',)),
    'remove all rows of conversation': Compiled("""DELETE FROM conversation WHERE conversation.space = %s::BIGINT""", ('space',)),
    'remove all rows of definition': Compiled("""DELETE FROM definition WHERE definition.space = %s::BIGINT""", ('space',)),
    'remove all rows of erasure': Compiled("""DELETE FROM erasure WHERE erasure.space = %s::BIGINT""", ('space',)),
    'remove all rows of link': Compiled("""DELETE FROM link WHERE link.space = %s::BIGINT""", ('space',)),
    'remove all rows of object': Compiled("""DELETE FROM object WHERE object.space = %s::BIGINT""", ('space',)),
    'remove all rows of payload': Compiled("""DELETE FROM payload WHERE payload.space = %s::BIGINT""", ('space',)),
    'remove all rows of record_log': Compiled("""DELETE FROM record_log WHERE record_log.space = %s::BIGINT""", ('space',)),
    'remove all rows of stream': Compiled("""DELETE FROM stream WHERE stream.space = %s::BIGINT""", ('space',)),
    'remove all rows of stream_chunk': Compiled("""DELETE FROM stream_chunk WHERE stream_chunk.space = %s::BIGINT""", ('space',)),
    'remove all rows of turn': Compiled("""DELETE FROM turn WHERE turn.space = %s::BIGINT""", ('space',)),
    'remove bookmark': Compiled("""DELETE FROM bookmark WHERE bookmark.space = %s::BIGINT AND bookmark.name = %s""", ('space', 'name')),
    'remove object': Compiled("""DELETE FROM object WHERE object.space = %s::BIGINT AND object.kind = %s::VARCHAR AND object.key = %s""", ('space', 'kind', 'key')),
    'remove the journal of a stream': Compiled("""DELETE FROM stream_chunk WHERE stream_chunk.space = %s::BIGINT AND stream_chunk.stream = %s::VARCHAR""", ('space', 'id')),
    'remove the objects whose keys begin so': Compiled("""DELETE FROM object WHERE object.space = %s::BIGINT AND object.kind = %s::VARCHAR AND object.key >= %s AND object.key < %s""", ('space', 'kind', 'low', 'high')),
    'rename a conversation': Compiled("""UPDATE conversation SET subject=%s WHERE conversation.space = %s::BIGINT AND conversation.subject = %s""", ('to_subject', 'space', 'subject')),
    'rename bookmark': Compiled("""UPDATE bookmark SET name=%s, move=%s::BIGINT, own=%s::SMALLINT, running=%s WHERE bookmark.space = %s::BIGINT AND bookmark.name = %s""", ('to_name', 'to_move', 'to_own', 'to_running', 'space', 'name')),
    'rename space': Compiled("""UPDATE space SET name=%s WHERE space.id = %s::BIGINT""", ('new', 'space')),
    'rename the log of a bookmark': Compiled("""UPDATE bookmark_log SET name=%s WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = %s""", ('to_name', 'space', 'name')),
    'renew the lease of a stream': Compiled("""UPDATE stream SET expires=%s::BIGINT WHERE stream.space = %s::BIGINT AND stream.id = %s::VARCHAR AND stream.outcome IS NULL""", ('until', 'space', 'id')),
    'retire the counter of a space that holds nothing': Compiled("""UPDATE counter SET state=%s::VARCHAR WHERE counter.space = %s::BIGINT AND counter.seq = %s::BIGINT AND counter.change = %s::BIGINT""", ('became', 'space', 'seq_1', 'change_1'), {'change_1': 0, 'seq_1': 0}),
    'revision of an object, and that of what was removed of its kind': Compiled("""SELECT object.key, object.revision 
FROM object 
WHERE object.space = %s::BIGINT AND object.kind = %s::VARCHAR AND object.key IN (%s, %s)""", ('space', 'kind', 'key', 'removed')),
    'rows of bookmark behind a key': Compiled("""SELECT bookmark.name, bookmark.chain, bookmark.pos, bookmark.move, bookmark.recent, bookmark.own, bookmark.running 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT AND (bookmark.name) > (%s) ORDER BY bookmark.name 
 LIMIT %s""", ('space', 'after_name', 'limit')),
    'rows of bookmark_log behind a key': Compiled("""SELECT bookmark_log.name, bookmark_log.move, bookmark_log.chain, bookmark_log.pos, bookmark_log.milliseconds, bookmark_log.seq, bookmark_log.change, bookmark_log.running, bookmark_log.was 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND (bookmark_log.name, bookmark_log.move) > (%s, %s::BIGINT) ORDER BY bookmark_log.name, bookmark_log.move 
 LIMIT %s""", ('space', 'after_name', 'after_move', 'limit')),
    'rows of conversation behind a key': Compiled("""SELECT conversation.subject, conversation.revision, conversation.archived, conversation.pinned, conversation.key, conversation.data, conversation.milliseconds 
FROM conversation 
WHERE conversation.space = %s::BIGINT AND (conversation.subject) > (%s) ORDER BY conversation.subject 
 LIMIT %s""", ('space', 'after_subject', 'limit')),
    'rows of definition behind a key': Compiled("""SELECT definition.kind, definition.name, definition.number, definition.hash, definition.data, definition.milliseconds, definition.seq, definition.change, definition.running 
FROM definition 
WHERE definition.space = %s::BIGINT AND (definition.kind, definition.name, definition.number) > (%s::VARCHAR, %s, %s::BIGINT) ORDER BY definition.kind, definition.name, definition.number 
 LIMIT %s""", ('space', 'after_kind', 'after_name', 'after_number', 'limit')),
    'rows of erasure behind a key': Compiled("""SELECT erasure.number, erasure.change, erasure.seq, erasure.id, erasure.receipt, erasure.before, erasure.hash, erasure.milliseconds 
FROM erasure 
WHERE erasure.space = %s::BIGINT AND (erasure.number) > (%s::BIGINT) ORDER BY erasure.number 
 LIMIT %s""", ('space', 'after_number', 'limit')),
    'rows of link behind a key': Compiled("""SELECT link.chain, link.ordinal, link.parent_chain, link.parent_pos 
FROM link 
WHERE link.space = %s::BIGINT AND (link.chain, link.ordinal) > (%s::BIGINT, %s::BIGINT) ORDER BY link.chain, link.ordinal 
 LIMIT %s""", ('space', 'after_chain', 'after_ordinal', 'limit')),
    'rows of object behind a key': Compiled("""SELECT object.kind, object.key, object.revision, object.data, object.milliseconds 
FROM object 
WHERE object.space = %s::BIGINT AND (object.kind, object.key) > (%s::VARCHAR, %s) ORDER BY object.kind, object.key 
 LIMIT %s""", ('space', 'after_kind', 'after_key', 'limit')),
    'rows of payload behind a key': Compiled("""SELECT payload.hash, payload.size, payload.data, payload.erased 
FROM payload 
WHERE payload.space = %s::BIGINT AND (payload.hash) > (%s) ORDER BY payload.hash 
 LIMIT %s""", ('space', 'after_hash', 'limit')),
    'rows of record_log behind a key': Compiled("""SELECT record_log.change, record_log.seq, record_log.subject, record_log.milliseconds 
FROM record_log 
WHERE record_log.space = %s::BIGINT AND (record_log.change) > (%s::BIGINT) ORDER BY record_log.change 
 LIMIT %s""", ('space', 'after_change', 'limit')),
    'rows of stream behind a key': Compiled("""SELECT stream.id, stream.about, stream.expires, stream.outcome, stream.turn 
FROM stream 
WHERE stream.space = %s::BIGINT AND (stream.id) > (%s::VARCHAR) ORDER BY stream.id 
 LIMIT %s""", ('space', 'after_id', 'limit')),
    'rows of stream_chunk behind a key': Compiled("""SELECT stream_chunk.stream, stream_chunk.number, stream_chunk.data 
FROM stream_chunk 
WHERE stream_chunk.space = %s::BIGINT AND (stream_chunk.stream, stream_chunk.number) > (%s::VARCHAR, %s::BIGINT) ORDER BY stream_chunk.stream, stream_chunk.number 
 LIMIT %s""", ('space', 'after_stream', 'after_number', 'limit')),
    'rows of turn behind a key': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.data, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND (turn.chain, turn.pos) > (%s::BIGINT, %s::BIGINT) ORDER BY turn.chain, turn.pos 
 LIMIT %s""", ('space', 'after_chain', 'after_pos', 'limit')),
    'say something of a conversation': Compiled("""INSERT INTO conversation (space, subject, revision, archived, pinned, key, data, milliseconds) VALUES (%s::BIGINT, %s, %s::BIGINT, %s::SMALLINT, %s::SMALLINT, %s, %s, %s::BIGINT) ON CONFLICT (space, subject) DO UPDATE SET revision = excluded.revision, archived = excluded.archived, pinned = excluded.pinned, key = excluded.key, data = excluded.data, milliseconds = excluded.milliseconds""", ('space', 'subject', 'revision', 'archived', 'pinned', 'key', 'data', 'milliseconds')),
    'seal of the turn with a commit number': Compiled("""SELECT turn.seal 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.seq = %s::BIGINT""", ('space', 'seq')),
    'set what a space may hold': Compiled("""UPDATE counter SET limit_turns=%s::BIGINT, limit_bytes=%s::BIGINT WHERE counter.space = %s::BIGINT""", ('turns', 'bytes', 'space')),
    'state of a space': Compiled("""SELECT counter.state 
FROM counter 
WHERE counter.space = %s::BIGINT""", ('space',)),
    'state of a space, and how many hashes it bars': Compiled("""SELECT counter.state, counter.bars, (SELECT count(*) AS count_1 
FROM payload 
WHERE payload.space = %s::BIGINT AND payload.erased IS NOT NULL) AS anon_1 
FROM counter 
WHERE counter.space = %s::BIGINT""", ('space', 'space')),
    'take a number of a change': Compiled("""UPDATE counter SET change=(counter.change + %s::BIGINT) WHERE counter.space = %s::BIGINT RETURNING counter.seq, counter.change""", ('change_1', 'space'), {'change_1': 1}),
    'take commit numbers': Compiled("""UPDATE counter SET seq=(counter.seq + %s::BIGINT), latest=(counter.seq + %s::BIGINT), roots=(counter.roots + %s::BIGINT), heads=(counter.heads + %s::BIGINT), given_bytes=(counter.given_bytes + %s::BIGINT) WHERE counter.space = %s::BIGINT AND (counter.limit_turns IS NULL OR counter.seq + %s::BIGINT <= counter.limit_turns) AND (counter.limit_bytes IS NULL OR counter.given_bytes + %s::BIGINT <= counter.limit_bytes) RETURNING counter.seq, counter.change, counter.bars""", ('count', 'count', 'more_roots', 'more_heads', 'more_bytes', 'space', 'count', 'more_bytes')),
    'take out of the search index': Compiled("""DELETE FROM search_text WHERE space = %s AND seq = %s""", ('space', 'seq')),
    'take the next commit number, if nothing was written since and the name is where it was left': Compiled("""UPDATE counter SET seq=%s::BIGINT, latest=%s::BIGINT, given_bytes=(counter.given_bytes + %s::BIGINT) WHERE counter.space = %s::BIGINT AND counter.seq = %s::BIGINT AND counter.change = %s::BIGINT AND counter.state IS NULL AND counter.bars = 0 AND (EXISTS (SELECT * 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT AND bookmark.name = %s AND bookmark.chain = %s::BIGINT AND bookmark.pos = %s::BIGINT AND bookmark.move = %s::BIGINT AND bookmark.running = %s)) AND (counter.limit_turns IS NULL OR counter.limit_turns >= %s::BIGINT) AND (counter.limit_bytes IS NULL OR counter.given_bytes + %s::BIGINT <= counter.limit_bytes)""", ('following', 'following', 'more_bytes', 'space', 'known', 'changes', 'space', 'name', 'chain', 'pos', 'move', 'running', 'following', 'more_bytes')),
    'the last of the chains that a list looked at': Compiled("""WITH RECURSIVE chains(chain, n) AS (SELECT max(o.chain), 1 FROM turn AS o WHERE o.space = %s AND o.chain < %s UNION ALL SELECT (SELECT max(o.chain) FROM turn AS o WHERE o.space = %s AND o.chain < chains.chain), n + 1 FROM chains WHERE chains.chain IS NOT NULL AND n < %s) SELECT count(chain), min(chain) FROM chains""", ('space', 'before', 'space', 'looked_at')),
    'the newest turns, with payloads': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, coalesce(turn.data, payload.data) AS coalesce_1 
FROM turn LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL 
WHERE turn.space = %s::BIGINT ORDER BY turn.seq DESC 
 LIMIT %s""", ('space', 'space', 'limit')),
    'the next row sorts in what waits beside the search index': Compiled("""SELECT set_config('gin_pending_list_limit', '64', true)""", ()),
    'the next space with rows in bookmark': Compiled("""SELECT min(bookmark.space) AS min_1 
FROM bookmark 
WHERE bookmark.space > %s::BIGINT""", ('after',)),
    'the next space with rows in bookmark_log': Compiled("""SELECT min(bookmark_log.space) AS min_1 
FROM bookmark_log 
WHERE bookmark_log.space > %s::BIGINT""", ('after',)),
    'the next space with rows in conversation': Compiled("""SELECT min(conversation.space) AS min_1 
FROM conversation 
WHERE conversation.space > %s::BIGINT""", ('after',)),
    'the next space with rows in counter': Compiled("""SELECT min(counter.space) AS min_1 
FROM counter 
WHERE counter.space > %s::BIGINT""", ('after',)),
    'the next space with rows in definition': Compiled("""SELECT min(definition.space) AS min_1 
FROM definition 
WHERE definition.space > %s::BIGINT""", ('after',)),
    'the next space with rows in erasure': Compiled("""SELECT min(erasure.space) AS min_1 
FROM erasure 
WHERE erasure.space > %s::BIGINT""", ('after',)),
    'the next space with rows in link': Compiled("""SELECT min(link.space) AS min_1 
FROM link 
WHERE link.space > %s::BIGINT""", ('after',)),
    'the next space with rows in object': Compiled("""SELECT min(object.space) AS min_1 
FROM object 
WHERE object.space > %s::BIGINT""", ('after',)),
    'the next space with rows in payload': Compiled("""SELECT min(payload.space) AS min_1 
FROM payload 
WHERE payload.space > %s::BIGINT""", ('after',)),
    'the next space with rows in record_log': Compiled("""SELECT min(record_log.space) AS min_1 
FROM record_log 
WHERE record_log.space > %s::BIGINT""", ('after',)),
    'the next space with rows in search': Compiled("""SELECT min(search.space) AS min_1 
FROM search 
WHERE search.space > %s::BIGINT""", ('after',)),
    'the next space with rows in space_log': Compiled("""SELECT min(space_log.space) AS min_1 
FROM space_log 
WHERE space_log.space > %s::BIGINT""", ('after',)),
    'the next space with rows in stream': Compiled("""SELECT min(stream.space) AS min_1 
FROM stream 
WHERE stream.space > %s::BIGINT""", ('after',)),
    'the next space with rows in stream_chunk': Compiled("""SELECT min(stream_chunk.space) AS min_1 
FROM stream_chunk 
WHERE stream_chunk.space > %s::BIGINT""", ('after',)),
    'the next space with rows in turn': Compiled("""SELECT min(turn.space) AS min_1 
FROM turn 
WHERE turn.space > %s::BIGINT""", ('after',)),
    'the next space with words in the search index': Compiled("""SELECT min(space) || '.' FROM search_text WHERE space > CAST(%s AS bigint)""", ('number',)),
    'the search index goes on': Compiled("""UPDATE search SET seq=%s::BIGINT WHERE search.space = %s::BIGINT AND search.seq = %s::BIGINT AND search.emptied = %s::BIGINT""", ('to_seq', 'space', 'known', 'known_emptied')),
    'turn at a place': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos = %s::BIGINT""", ('space', 'chain', 'pos')),
    'turn by commit number': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.seq = %s::BIGINT""", ('space', 'seq')),
    'turn by id': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.id = %s::VARCHAR""", ('space', 'id')),
    'turn by its key': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.key IN (%s, %s)""", ('space', 'key', 'key_hash')),
    'turn by key': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.key = %s""", ('space', 'key')),
    'turns after a commit number': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.seq > %s::BIGINT ORDER BY turn.seq 
 LIMIT %s""", ('space', 'seq', 'limit')),
    'turns after a commit number that keep something beside what they say': Compiled("""SELECT turn.seq, turn.id, turn.head, turn.system 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.seq > %s::BIGINT AND turn.system IS NOT NULL ORDER BY turn.seq 
 LIMIT %s""", ('space', 'seq', 'limit')),
    'turns at places, with payloads': Compiled("""WITH wanted AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos)
 SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, coalesce(turn.data, payload.data) AS coalesce_1 
FROM wanted LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = wanted.chain AND turn.pos = wanted.pos LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL""", ('chain0', 'pos0', 'chain1', 'pos1', 'chain2', 'pos2', 'chain3', 'pos3', 'chain4', 'pos4', 'chain5', 'pos5', 'chain6', 'pos6', 'chain7', 'pos7', 'chain8', 'pos8', 'chain9', 'pos9', 'chain10', 'pos10', 'chain11', 'pos11', 'chain12', 'pos12', 'chain13', 'pos13', 'chain14', 'pos14', 'chain15', 'pos15', 'chain16', 'pos16', 'chain17', 'pos17', 'chain18', 'pos18', 'chain19', 'pos19', 'chain20', 'pos20', 'chain21', 'pos21', 'chain22', 'pos22', 'chain23', 'pos23', 'chain24', 'pos24', 'chain25', 'pos25', 'chain26', 'pos26', 'chain27', 'pos27', 'chain28', 'pos28', 'chain29', 'pos29', 'chain30', 'pos30', 'chain31', 'pos31', 'chain32', 'pos32', 'chain33', 'pos33', 'chain34', 'pos34', 'chain35', 'pos35', 'chain36', 'pos36', 'chain37', 'pos37', 'chain38', 'pos38', 'chain39', 'pos39', 'chain40', 'pos40', 'chain41', 'pos41', 'chain42', 'pos42', 'chain43', 'pos43', 'chain44', 'pos44', 'chain45', 'pos45', 'chain46', 'pos46', 'chain47', 'pos47', 'chain48', 'pos48', 'chain49', 'pos49', 'chain50', 'pos50', 'chain51', 'pos51', 'chain52', 'pos52', 'chain53', 'pos53', 'chain54', 'pos54', 'chain55', 'pos55', 'chain56', 'pos56', 'chain57', 'pos57', 'chain58', 'pos58', 'chain59', 'pos59', 'chain60', 'pos60', 'chain61', 'pos61', 'chain62', 'pos62', 'chain63', 'pos63', 'space', 'space')),
    'turns by digests': Compiled("""WITH wanted AS 
(SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest UNION ALL SELECT %s AS digest)
 SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM wanted LEFT OUTER JOIN turn AS other ON other.space = %s::BIGINT AND substr(other.digest, 1, 8) = substr(wanted.digest, 1, 8) AND other.digest = wanted.digest LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = other.chain AND turn.pos = other.pos""", ('wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63', 'space', 'space')),
    'turns by handle': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND %s <= substr(turn.digest, 1, 8) AND %s >= substr(turn.digest, 1, 8) AND turn.digest >= %s AND turn.digest <= %s AND turn.id LIKE %s::VARCHAR 
 LIMIT %s""", ('space', 'low_short', 'high_short', 'low', 'high', 'ending', 'limit')),
    'turns by id prefix': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.id >= %s::VARCHAR AND turn.id < %s::VARCHAR ORDER BY turn.id 
 LIMIT %s""", ('space', 'low', 'high', 'limit')),
    'turns by place, a page, with the bytes in their rows': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes, turn.data 
FROM turn 
WHERE turn.space = %s::BIGINT AND (turn.chain, turn.pos) > (%s::BIGINT, %s::BIGINT) ORDER BY turn.chain, turn.pos 
 LIMIT %s""", ('space', 'chain', 'pos', 'limit')),
    'turns by their ids': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.id IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'turns by their keys': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.key IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63', 'wanted0_hash', 'wanted1_hash', 'wanted2_hash', 'wanted3_hash', 'wanted4_hash', 'wanted5_hash', 'wanted6_hash', 'wanted7_hash', 'wanted8_hash', 'wanted9_hash', 'wanted10_hash', 'wanted11_hash', 'wanted12_hash', 'wanted13_hash', 'wanted14_hash', 'wanted15_hash', 'wanted16_hash', 'wanted17_hash', 'wanted18_hash', 'wanted19_hash', 'wanted20_hash', 'wanted21_hash', 'wanted22_hash', 'wanted23_hash', 'wanted24_hash', 'wanted25_hash', 'wanted26_hash', 'wanted27_hash', 'wanted28_hash', 'wanted29_hash', 'wanted30_hash', 'wanted31_hash', 'wanted32_hash', 'wanted33_hash', 'wanted34_hash', 'wanted35_hash', 'wanted36_hash', 'wanted37_hash', 'wanted38_hash', 'wanted39_hash', 'wanted40_hash', 'wanted41_hash', 'wanted42_hash', 'wanted43_hash', 'wanted44_hash', 'wanted45_hash', 'wanted46_hash', 'wanted47_hash', 'wanted48_hash', 'wanted49_hash', 'wanted50_hash', 'wanted51_hash', 'wanted52_hash', 'wanted53_hash', 'wanted54_hash', 'wanted55_hash', 'wanted56_hash', 'wanted57_hash', 'wanted58_hash', 'wanted59_hash', 'wanted60_hash', 'wanted61_hash', 'wanted62_hash', 'wanted63_hash')),
    'turns of a chain up to a place, with payloads': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, coalesce(turn.data, payload.data) AS coalesce_1 
FROM turn LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos <= %s::BIGINT ORDER BY turn.pos""", ('space', 'space', 'chain', 'pos')),
    "turns of a digest's first bytes": Compiled("""SELECT turn.id 
FROM turn 
WHERE turn.space = %s::BIGINT AND %s = substr(turn.digest, 1, 8) 
 LIMIT %s""", ('space', 'short', 'limit')),
    'turns of a page of hits, with what they continue': Compiled("""WITH w(seq) AS (SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(%s AS json))), t AS (SELECT found.chain, found.pos, found.seq, found.id, found.role, found.type, found.content_type, found.cache, found.attributes, found.inherited, found.system, found.digest, found.hash, found.seal, found.head, found.app, found.erased, found."key", found.supersedes, found.pos - 1 AS earlier FROM w LEFT JOIN turn AS found ON found.space = %s AND found.seq = w.seq) SELECT t.chain, t.pos, t.seq, t.id, t.role, t.type, t.content_type, t.cache, t.attributes, t.inherited, t.system, t.digest, t.hash, t.seal, t.head, t.app, t.erased, t."key", t.supersedes, p.id AS before, t.pos = 0 AND EXISTS (SELECT 1 FROM link AS l WHERE l.space = %s AND l.chain = t.chain) FROM t LEFT JOIN turn AS p ON p.space = %s AND p.chain = t.chain AND p.pos = t.earlier""", ('seqs', 'space', 'space', 'space')),
    'turns of a range': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos BETWEEN %s::BIGINT AND %s::BIGINT ORDER BY turn.pos""", ('space', 'chain', 'low', 'high')),
    'turns of a range of commit numbers': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.seq > %s::BIGINT AND turn.seq <= %s::BIGINT ORDER BY turn.seq""", ('space', 'low', 'high')),
    'turns of a range, with payloads': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes, coalesce(turn.data, payload.data) AS coalesce_1 
FROM turn LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos BETWEEN %s::BIGINT AND %s::BIGINT ORDER BY turn.pos""", ('space', 'space', 'chain', 'low', 'high')),
    'turns of a range, with the sizes of what they hold': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes, coalesce(length(turn.data), payload.size, 0) AS coalesce_1 
FROM turn LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos BETWEEN %s::BIGINT AND %s::BIGINT ORDER BY turn.pos""", ('space', 'space', 'chain', 'low', 'high')),
    'turns of a tree, with payloads': Compiled("""WITH RECURSIVE up(chain) AS 
(SELECT CAST(%s AS BIGINT) AS chain UNION SELECT link.parent_chain AS parent_chain 
FROM link, up 
WHERE link.space = %s::BIGINT AND link.chain = up.chain), 
down(chain) AS 
(SELECT up.chain AS chain 
FROM up UNION SELECT link.chain AS chain 
FROM link, down 
WHERE link.space = %s::BIGINT AND link.parent_chain = down.chain)
 SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, coalesce(turn.data, payload.data) AS coalesce_1 
FROM turn LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL 
WHERE turn.space = %s::BIGINT AND turn.chain IN (SELECT down.chain 
FROM down)""", ('chain', 'space', 'space', 'space', 'space')),
    'turns that continue a place': Compiled("""WITH continuing AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) + %s::BIGINT AS pos UNION ALL SELECT begun.chain AS chain, begun.pos AS pos 
FROM (SELECT link.chain AS chain, 0 AS pos 
FROM link 
WHERE link.space = %s::BIGINT AND link.parent_chain = %s::BIGINT AND link.parent_pos = %s::BIGINT AND link.chain > %s::BIGINT ORDER BY link.chain 
 LIMIT %s) AS begun)
 SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM continuing LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = continuing.chain AND turn.pos = continuing.pos""", ('chain', 'pos', 'param_1', 'space', 'chain', 'pos', 'seq', 'limit', 'space'), {'param_1': 1}),
    'turns that lead to a place, with payloads': Compiled("""WITH RECURSIVE reach(chain, pos) AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION SELECT link.parent_chain AS parent_chain, link.parent_pos AS parent_pos 
FROM link, reach 
WHERE link.space = %s::BIGINT AND link.chain = reach.chain), 
top AS 
(SELECT reach.chain AS chain, max(reach.pos) AS pos 
FROM reach GROUP BY reach.chain)
 SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, coalesce(turn.data, payload.data) AS coalesce_1 
FROM top LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = top.chain AND turn.pos <= top.pos LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL""", ('chain', 'pos', 'space', 'space', 'space')),
    'turns that lead to some places, with payloads': Compiled("""WITH RECURSIVE places AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos), 
reach(chain, pos) AS 
(SELECT places.chain AS chain, places.pos AS pos 
FROM places UNION SELECT link.parent_chain AS parent_chain, link.parent_pos AS parent_pos 
FROM link, reach 
WHERE link.space = %s::BIGINT AND link.chain = reach.chain), 
top AS 
(SELECT reach.chain AS chain, max(reach.pos) AS pos 
FROM reach GROUP BY reach.chain)
 SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, coalesce(turn.data, payload.data) AS coalesce_1 
FROM top LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = top.chain AND turn.pos <= top.pos LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL""", ('chain0', 'pos0', 'chain1', 'pos1', 'chain2', 'pos2', 'chain3', 'pos3', 'chain4', 'pos4', 'chain5', 'pos5', 'chain6', 'pos6', 'chain7', 'pos7', 'chain8', 'pos8', 'chain9', 'pos9', 'chain10', 'pos10', 'chain11', 'pos11', 'chain12', 'pos12', 'chain13', 'pos13', 'chain14', 'pos14', 'chain15', 'pos15', 'chain16', 'pos16', 'chain17', 'pos17', 'chain18', 'pos18', 'chain19', 'pos19', 'chain20', 'pos20', 'chain21', 'pos21', 'chain22', 'pos22', 'chain23', 'pos23', 'chain24', 'pos24', 'chain25', 'pos25', 'chain26', 'pos26', 'chain27', 'pos27', 'chain28', 'pos28', 'chain29', 'pos29', 'chain30', 'pos30', 'chain31', 'pos31', 'chain32', 'pos32', 'chain33', 'pos33', 'chain34', 'pos34', 'chain35', 'pos35', 'chain36', 'pos36', 'chain37', 'pos37', 'chain38', 'pos38', 'chain39', 'pos39', 'chain40', 'pos40', 'chain41', 'pos41', 'chain42', 'pos42', 'chain43', 'pos43', 'chain44', 'pos44', 'chain45', 'pos45', 'chain46', 'pos46', 'chain47', 'pos47', 'chain48', 'pos48', 'chain49', 'pos49', 'chain50', 'pos50', 'chain51', 'pos51', 'chain52', 'pos52', 'chain53', 'pos53', 'chain54', 'pos54', 'chain55', 'pos55', 'chain56', 'pos56', 'chain57', 'pos57', 'chain58', 'pos58', 'chain59', 'pos59', 'chain60', 'pos60', 'chain61', 'pos61', 'chain62', 'pos62', 'chain63', 'pos63', 'space', 'space', 'space')),
    'turns that may match, the newest first': Compiled("""SELECT seq FROM (SELECT seq FROM search_text WHERE space = %s AND words @@ CAST(replace(replace(replace(replace(CAST(%s AS text), ' AND ', ' & '), ' OR ', ' | '), '" *', ''':*'), '"', '''') AS tsquery) AND seq > %s AND seq < %s OFFSET 0) AS found ORDER BY seq DESC LIMIT %s""", ('space', 'question', 'low', 'high', 'limit')),
    'turns that may match, the newest first, with what of them is searched': Compiled("""SELECT f.seq, t.seq, t.chain, t.pos, t.id, t.role, t.type, t.content_type, t.system, t.erased, t.data FROM (SELECT seq FROM (SELECT seq FROM search_text WHERE space = %s AND words @@ CAST(replace(replace(replace(replace(CAST(%s AS text), ' AND ', ' & '), ' OR ', ' | '), '" *', ''':*'), '"', '''') AS tsquery) AND seq > %s AND seq < %s OFFSET 0) AS found ORDER BY seq DESC LIMIT %s) AS f LEFT JOIN turn AS t ON t.space = %s AND t.seq = f.seq""", ('space', 'question', 'low', 'high', 'limit', 'space')),
    'turns that nothing continues, the last stored first': Compiled("""WITH RECURSIVE chains(chain) AS 
(SELECT min(turn.chain) AS chain 
FROM turn 
WHERE turn.space = %s::BIGINT UNION ALL SELECT (SELECT min(other.chain) AS min_1 
FROM turn AS other 
WHERE other.space = %s::BIGINT AND other.chain > chains.chain) AS anon_1 
FROM chains 
WHERE chains.chain IS NOT NULL)
 SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn, chains 
WHERE turn.space = %s::BIGINT AND turn.chain = chains.chain AND turn.pos = (SELECT other.pos 
FROM turn AS other 
WHERE other.space = %s::BIGINT AND other.chain = chains.chain ORDER BY other.pos DESC 
 LIMIT %s::INTEGER) AND turn.seq < %s::BIGINT AND NOT (EXISTS (SELECT * 
FROM link 
WHERE link.space = %s::BIGINT AND link.parent_chain = turn.chain AND link.parent_pos = turn.pos)) ORDER BY turn.seq DESC 
 LIMIT %s""", ('space', 'space', 'space', 'space', 'param_1', 'before', 'space', 'limit'), {'param_1': 1}),
    'turns that say they are copies': Compiled("""SELECT turn.id, turn.system 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.system IS NOT NULL AND position(%s IN turn.system) > 0""", ('space', 'says')),
    'turns that set options on the way to a place': Compiled("""WITH RECURSIVE reach(chain, pos) AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION SELECT link.parent_chain AS parent_chain, link.parent_pos AS parent_pos 
FROM link, reach 
WHERE link.space = %s::BIGINT AND link.chain = reach.chain), 
top AS 
(SELECT reach.chain AS chain, max(reach.pos) AS pos 
FROM reach GROUP BY reach.chain)
 SELECT turn.chain, turn.pos, turn.id, turn.inherited 
FROM top LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = top.chain AND turn.pos <= top.pos AND turn.inherited IS NOT NULL""", ('chain', 'pos', 'space', 'space')),
    'turns that set options on the way to some places': Compiled("""WITH RECURSIVE places AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos), 
reach(chain, pos) AS 
(SELECT places.chain AS chain, places.pos AS pos 
FROM places UNION SELECT link.parent_chain AS parent_chain, link.parent_pos AS parent_pos 
FROM link, reach 
WHERE link.space = %s::BIGINT AND link.chain = reach.chain), 
top AS 
(SELECT reach.chain AS chain, max(reach.pos) AS pos 
FROM reach GROUP BY reach.chain)
 SELECT turn.chain, turn.pos, turn.id, turn.inherited 
FROM top LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = top.chain AND turn.pos <= top.pos AND turn.inherited IS NOT NULL""", ('chain0', 'pos0', 'chain1', 'pos1', 'chain2', 'pos2', 'chain3', 'pos3', 'chain4', 'pos4', 'chain5', 'pos5', 'chain6', 'pos6', 'chain7', 'pos7', 'chain8', 'pos8', 'chain9', 'pos9', 'chain10', 'pos10', 'chain11', 'pos11', 'chain12', 'pos12', 'chain13', 'pos13', 'chain14', 'pos14', 'chain15', 'pos15', 'chain16', 'pos16', 'chain17', 'pos17', 'chain18', 'pos18', 'chain19', 'pos19', 'chain20', 'pos20', 'chain21', 'pos21', 'chain22', 'pos22', 'chain23', 'pos23', 'chain24', 'pos24', 'chain25', 'pos25', 'chain26', 'pos26', 'chain27', 'pos27', 'chain28', 'pos28', 'chain29', 'pos29', 'chain30', 'pos30', 'chain31', 'pos31', 'chain32', 'pos32', 'chain33', 'pos33', 'chain34', 'pos34', 'chain35', 'pos35', 'chain36', 'pos36', 'chain37', 'pos37', 'chain38', 'pos38', 'chain39', 'pos39', 'chain40', 'pos40', 'chain41', 'pos41', 'chain42', 'pos42', 'chain43', 'pos43', 'chain44', 'pos44', 'chain45', 'pos45', 'chain46', 'pos46', 'chain47', 'pos47', 'chain48', 'pos48', 'chain49', 'pos49', 'chain50', 'pos50', 'chain51', 'pos51', 'chain52', 'pos52', 'chain53', 'pos53', 'chain54', 'pos54', 'chain55', 'pos55', 'chain56', 'pos56', 'chain57', 'pos57', 'chain58', 'pos58', 'chain59', 'pos59', 'chain60', 'pos60', 'chain61', 'pos61', 'chain62', 'pos62', 'chain63', 'pos63', 'space', 'space')),
    'turns that supersede a turn': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.supersedes = %s::VARCHAR""", ('space', 'id')),
    'turns that supersede some turns': Compiled("""SELECT turn.chain, turn.pos, turn.seq, turn.id, turn.role, turn.type, turn.content_type, turn.cache, turn.attributes, turn.inherited, turn.system, turn.digest, turn.hash, turn.seal, turn.head, turn.app, turn.erased, turn.key, turn.supersedes 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.supersedes IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'turns without a payload': Compiled("""SELECT turn.id 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.data IS NULL AND turn.erased IS NULL AND NOT (EXISTS (SELECT * 
FROM payload 
WHERE payload.space = %s::BIGINT AND payload.hash = turn.hash)) ORDER BY turn.id""", ('space', 'space')),
    'types and attributes of turns that lead to a place': Compiled("""WITH RECURSIVE reach(chain, pos) AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION SELECT link.parent_chain AS parent_chain, link.parent_pos AS parent_pos 
FROM link, reach 
WHERE link.space = %s::BIGINT AND link.chain = reach.chain), 
top AS 
(SELECT reach.chain AS chain, max(reach.pos) AS pos 
FROM reach GROUP BY reach.chain)
 SELECT turn.type, turn.attributes 
FROM top LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = top.chain AND turn.pos <= top.pos AND (turn.type IS NOT NULL OR turn.attributes IS NOT NULL)""", ('chain', 'pos', 'space', 'space')),
    'values of another type in bookmark': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM bookmark 
WHERE '' != '' AND bookmark.space = %s::BIGINT""", ('space',)),
    'values of another type in bookmark_log': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM bookmark_log 
WHERE '' != '' AND bookmark_log.space = %s::BIGINT""", ('space',)),
    'values of another type in conversation': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM conversation 
WHERE '' != '' AND conversation.space = %s::BIGINT""", ('space',)),
    'values of another type in counter': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM counter 
WHERE '' != '' AND counter.space = %s::BIGINT""", ('space',)),
    'values of another type in definition': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM definition 
WHERE '' != '' AND definition.space = %s::BIGINT""", ('space',)),
    'values of another type in erasure': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM erasure 
WHERE '' != '' AND erasure.space = %s::BIGINT""", ('space',)),
    'values of another type in link': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM link 
WHERE '' != '' AND link.space = %s::BIGINT""", ('space',)),
    'values of another type in object': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM object 
WHERE '' != '' AND object.space = %s::BIGINT""", ('space',)),
    'values of another type in payload': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM payload 
WHERE '' != '' AND payload.space = %s::BIGINT""", ('space',)),
    'values of another type in record_log': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM record_log 
WHERE '' != '' AND record_log.space = %s::BIGINT""", ('space',)),
    'values of another type in search': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM search 
WHERE '' != '' AND search.space = %s::BIGINT""", ('space',)),
    'values of another type in space': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM space 
WHERE '' != ''""", ()),
    'values of another type in space_log': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM space_log 
WHERE '' != '' AND space_log.space = %s::BIGINT""", ('space',)),
    'values of another type in stream': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM stream 
WHERE '' != '' AND stream.space = %s::BIGINT""", ('space',)),
    'values of another type in stream_chunk': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM stream_chunk 
WHERE '' != '' AND stream_chunk.space = %s::BIGINT""", ('space',)),
    'values of another type in turn': Compiled("""SELECT '' AS anon_1, '' AS anon_2 
FROM turn 
WHERE '' != '' AND turn.space = %s::BIGINT""", ('space',)),
    'what a child needs of a turn at a place': Compiled("""SELECT turn.id, turn.digest, turn.head 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos = %s::BIGINT""", ('space', 'chain', 'pos')),
    'what a name was renamed to since a change': Compiled("""SELECT bookmark_log.name 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.change > %s::BIGINT AND bookmark_log.was = %s ORDER BY bookmark_log.change 
 LIMIT %s::INTEGER""", ('space', 'change', 'name', 'param_1'), {'param_1': 1}),
    'what a search can use': Compiled("""SELECT c.seq, s.seq, s.version, 1 FROM counter AS c LEFT JOIN search AS s ON s.space = %s WHERE c.space = %s""", ('space', 'space')),
    'what is said of a conversation': Compiled("""SELECT conversation.subject, conversation.revision, conversation.data 
FROM conversation 
WHERE conversation.space = %s::BIGINT AND conversation.subject = %s""", ('space', 'subject')),
    'what is said of a nameless conversation goes to its name': Compiled("""WITH RECURSIVE path(chain, pos) AS 
(SELECT CAST(%s AS BIGINT) AS chain, CAST(%s AS BIGINT) AS pos UNION ALL SELECT link.parent_chain AS parent_chain, link.parent_pos AS parent_pos 
FROM link, path 
WHERE link.space = %s::BIGINT AND link.chain = path.chain AND link.ordinal = 0 AND link.parent_chain < path.chain), 
places AS 
(SELECT path.chain AS chain, (SELECT other.pos 
FROM turn AS other 
WHERE other.space = %s::BIGINT AND other.chain = path.chain AND other.pos <= path.pos AND other.role != 'system' AND other.role != 'developer' ORDER BY other.pos 
 LIMIT %s::INTEGER) AS pos 
FROM path), 
first AS 
(SELECT places.chain AS chain, places.pos AS pos 
FROM places 
WHERE places.pos IS NOT NULL ORDER BY places.chain 
 LIMIT %s::INTEGER), 
versions(id, supersedes, seq) AS 
(SELECT turn.id AS id, turn.supersedes AS supersedes, turn.seq AS seq 
FROM first LEFT OUTER JOIN turn ON turn.space = %s::BIGINT AND turn.chain = first.chain AND turn.pos = first.pos UNION ALL SELECT older.id AS id, older.supersedes AS supersedes, older.seq AS seq 
FROM turn AS older, versions 
WHERE older.space = %s::BIGINT AND older.id = versions.supersedes AND older.seq < versions.seq)
 UPDATE conversation SET subject=%s WHERE conversation.space = %s::BIGINT AND conversation.subject = (SELECT said.subject 
FROM versions JOIN conversation AS said ON said.space = %s::BIGINT AND said.subject = CAST(versions.id AS BYTEA) ORDER BY versions.seq DESC 
 LIMIT %s::INTEGER) AND NOT (EXISTS (SELECT * 
FROM conversation AS taken 
WHERE taken.space = %s::BIGINT AND taken.subject = %s)) RETURNING conversation.revision""", ('chain', 'pos', 'space', 'space', 'param_1', 'param_2', 'space', 'space', 'name', 'space', 'space', 'param_3', 'space', 'name'), {'param_1': 1, 'param_2': 1, 'param_3': 1}),
    'what is said of conversations': Compiled("""SELECT conversation.subject, conversation.revision, conversation.data 
FROM conversation 
WHERE conversation.space = %s::BIGINT AND conversation.subject IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'what is said of conversations, a page': Compiled("""SELECT conversation.subject, conversation.revision, conversation.data, conversation.archived, conversation.pinned, conversation.key, conversation.milliseconds, EXISTS (SELECT * 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT AND bookmark.name = conversation.subject) AS anon_1, EXISTS (SELECT * 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = conversation.subject) AS anon_2 
FROM conversation 
WHERE conversation.space = %s::BIGINT AND conversation.subject > %s ORDER BY conversation.subject 
 LIMIT %s""", ('space', 'space', 'space', 'subject', 'limit')),
    'what of turns after a commit number is searched': Compiled("""SELECT turn.seq, turn.chain, turn.pos, turn.id, turn.role, turn.type, turn.content_type, turn.system, turn.erased, turn.data 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.seq > %s::BIGINT ORDER BY turn.seq 
 LIMIT %s""", ('space', 'seq', 'limit')),
    'what of turns before a commit number is searched': Compiled("""SELECT turn.seq, turn.chain, turn.pos, turn.id, turn.role, turn.type, turn.content_type, turn.system, turn.erased, turn.data 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.seq > %s::BIGINT AND turn.seq < %s::BIGINT ORDER BY turn.seq DESC 
 LIMIT %s""", ('space', 'low', 'high', 'limit')),
    'what of turns with these commit numbers is searched': Compiled("""SELECT turn.seq, turn.chain, turn.pos, turn.id, turn.role, turn.type, turn.content_type, turn.system, turn.erased, turn.data 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.seq IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'what the turns of a range say': Compiled("""SELECT turn.pos, turn.id, turn.role, turn.type, turn.attributes, turn.system, turn.app, turn.hash, turn.erased, coalesce(turn.data, payload.data) AS coalesce_1 
FROM turn LEFT OUTER JOIN payload ON payload.space = %s::BIGINT AND payload.hash = turn.hash AND turn.erased IS NULL AND turn.data IS NULL 
WHERE turn.space = %s::BIGINT AND turn.chain = %s::BIGINT AND turn.pos BETWEEN %s::BIGINT AND %s::BIGINT ORDER BY turn.pos""", ('space', 'space', 'chain', 'low', 'high')),
    'what turns that supersede others keep beside what they say': Compiled("""SELECT turn.supersedes, turn.system 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.supersedes IS NOT NULL AND turn.system IS NOT NULL""", ('space',)),
    'what was said of conversations in a range of changes': Compiled("""SELECT record_log.change, record_log.seq, record_log.milliseconds, record_log.subject, conversation.revision, conversation.data 
FROM record_log LEFT OUTER JOIN conversation ON conversation.space = %s::BIGINT AND conversation.subject = record_log.subject 
WHERE record_log.space = %s::BIGINT AND record_log.change > %s::BIGINT AND record_log.change <= %s::BIGINT""", ('space', 'space', 'low', 'high')),
    'when a bookmark moved last': Compiled("""SELECT bookmark.recent 
FROM bookmark 
WHERE bookmark.space = %s::BIGINT AND bookmark.name = %s""", ('space', 'name')),
    'when something was said of a conversation': Compiled("""SELECT record_log.milliseconds 
FROM record_log 
WHERE record_log.space = %s::BIGINT AND record_log.change = %s::BIGINT""", ('space', 'change')),
    'where a bookmark ever pointed, the last place in each chain': Compiled("""SELECT bookmark_log.chain, max(bookmark_log.pos) AS max_1 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = %s AND bookmark_log.chain IS NOT NULL GROUP BY bookmark_log.chain ORDER BY bookmark_log.chain""", ('space', 'name')),
    'where a name was at a position': Compiled("""SELECT bookmark_log.chain, bookmark_log.pos 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name = %s AND (bookmark_log.seq < %s::BIGINT OR bookmark_log.seq = %s::BIGINT AND (bookmark_log.change IS NULL OR bookmark_log.change <= %s::BIGINT)) ORDER BY bookmark_log.move DESC 
 LIMIT %s::INTEGER""", ('space', 'name', 'seq', 'seq', 'change', 'param_1'), {'param_1': 1}),
    'where all addresses stand, a page in commit order': Compiled("""SELECT turn.seq, turn.chain, turn.pos, turn.hash 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.seq > %s::BIGINT AND turn.erased IS NULL ORDER BY turn.seq 
 LIMIT %s""", ('space', 'seq', 'limit')),
    'where some addresses stand': Compiled("""SELECT turn.seq, turn.chain, turn.pos, turn.hash 
FROM turn 
WHERE turn.space = %s::BIGINT AND turn.hash IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) AND turn.erased IS NULL""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'whether a chain branches from a position on': Compiled("""SELECT link.chain 
FROM link 
WHERE link.space = %s::BIGINT AND link.parent_chain = %s::BIGINT AND link.parent_pos >= %s::BIGINT 
 LIMIT %s::INTEGER""", ('space', 'chain', 'pos', 'param_1'), {'param_1': 1}),
    'whether a chain continues anything': Compiled("""SELECT link.ordinal 
FROM link 
WHERE link.space = %s::BIGINT AND link.chain = %s::BIGINT 
 LIMIT %s::INTEGER""", ('space', 'chain', 'param_1'), {'param_1': 1}),
    'whether a space holds what no counter counts': Compiled("""SELECT EXISTS (SELECT * 
FROM stream 
WHERE stream.space = %s::BIGINT) AS anon_1, EXISTS (SELECT * 
FROM conversation 
WHERE conversation.space = %s::BIGINT) AS anon_2, EXISTS (SELECT * 
FROM object 
WHERE object.space = %s::BIGINT) AS anon_3""", ('space', 'space', 'space')),
    'whether a space is still being restored': Compiled("""SELECT counter.space 
FROM counter 
WHERE counter.space = %s::BIGINT AND counter.state = %s::VARCHAR FOR UPDATE""", ('space', 'mark')),
    'whether any stream is open': Compiled("""SELECT stream.id 
FROM stream 
WHERE stream.space = %s::BIGINT AND stream.outcome IS NULL 
 LIMIT %s::INTEGER""", ('space', 'param_1'), {'param_1': 1}),
    'whether anything was ever erased': Compiled("""SELECT erasure.number 
FROM erasure 
WHERE erasure.space = %s::BIGINT 
 LIMIT %s::INTEGER""", ('space', 'param_1'), {'param_1': 1}),
    'whether the database has a search index': Compiled("""SELECT count(*) FROM pg_catalog.pg_class WHERE oid = to_regclass('search_text')""", ()),
    'whether the search index can only be emptied for all spaces': Compiled("""SELECT 0""", ()),
    'whether what is freed is overwritten': Compiled("""SELECT 1""", ()),
    'which addresses are barred': Compiled("""SELECT payload.hash, payload.erased 
FROM payload 
WHERE payload.space = %s::BIGINT AND payload.hash IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) AND payload.erased IS NOT NULL""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'which names have a log': Compiled("""SELECT DISTINCT bookmark_log.name 
FROM bookmark_log 
WHERE bookmark_log.space = %s::BIGINT AND bookmark_log.name IN (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)""", ('space', 'wanted0', 'wanted1', 'wanted2', 'wanted3', 'wanted4', 'wanted5', 'wanted6', 'wanted7', 'wanted8', 'wanted9', 'wanted10', 'wanted11', 'wanted12', 'wanted13', 'wanted14', 'wanted15', 'wanted16', 'wanted17', 'wanted18', 'wanted19', 'wanted20', 'wanted21', 'wanted22', 'wanted23', 'wanted24', 'wanted25', 'wanted26', 'wanted27', 'wanted28', 'wanted29', 'wanted30', 'wanted31', 'wanted32', 'wanted33', 'wanted34', 'wanted35', 'wanted36', 'wanted37', 'wanted38', 'wanted39', 'wanted40', 'wanted41', 'wanted42', 'wanted43', 'wanted44', 'wanted45', 'wanted46', 'wanted47', 'wanted48', 'wanted49', 'wanted50', 'wanted51', 'wanted52', 'wanted53', 'wanted54', 'wanted55', 'wanted56', 'wanted57', 'wanted58', 'wanted59', 'wanted60', 'wanted61', 'wanted62', 'wanted63')),
    'words of the search index, a page': Compiled("""SELECT w.lexeme, count(*) FROM search_text AS s, unnest(s.words) AS w WHERE s.space = %s AND w.lexeme COLLATE "C" > %s AND w.lexeme COLLATE "C" < %s GROUP BY w.lexeme ORDER BY w.lexeme COLLATE "C" LIMIT %s""", ('space', 'after', 'end', 'limit')),
    'words were taken out of the search index': Compiled("""UPDATE search SET emptied=(search.emptied + %s::BIGINT) WHERE search.space = %s::BIGINT""", ('emptied_1', 'space'), {'emptied_1': 1}),
}
