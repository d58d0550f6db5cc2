"""What PostgreSQL says of its own tables: their kind, their columns, and what it keeps unique."""

FOUND = """
SELECT c.relkind IN ('r', 'p', 'm'), row_security_active(c.oid),
    EXISTS (SELECT FROM pg_partition_tree(c.oid) p JOIN pg_class f ON f.oid = p.relid WHERE f.relkind = 'f')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s
"""
COLUMNS = """
SELECT a.attname, CASE WHEN t.typtype = 'e' THEN 'text' WHEN t.typnamespace = 'pg_catalog'::regnamespace
    THEN t.typname ELSE '' END
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_class c ON c.oid = a.attrelid
    JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %s AND c.relname = %s AND a.attnum > 0 AND NOT a.attisdropped
"""
UNIQUE = """
SELECT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = (SELECT c.oid FROM pg_class c JOIN pg_namespace n
    ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relname = %s)
    AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = 2 AND
    (SELECT array_agg(a.attname::text) FROM pg_attribute a
    WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:1])) @> ARRAY[%s, %s])
"""
