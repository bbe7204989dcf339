"""The ids of operators, by which their state is found again: Flink's rules.

An operator with a uid has the uid's hash as its id. The id of any other comes from its place: how many
operators were numbered before it, how many are chained to it, and the ids of its inputs. Names and
parallelism do not enter.
"""

from __future__ import annotations

import struct
from collections import deque

from penstock.errors import DuplicateUidError
from penstock.graph.chaining import chained_edges
from penstock.graph.murmur3 import murmur3_128
from penstock.graph.stream_graph import StreamGraph, StreamNode


def operator_ids(graph: StreamGraph) -> dict[int, str]:
    """Return the id of each operator, 32 hexadecimal digits, by the id of its node.

    Raises:
        DuplicateUidError: If two operators get the same id.
    """
    hashes = _hashes(graph)
    ids = {
        node.id: node.uid_hash.lower() if node.uid_hash else hashes[node.id].hex()
        for node in graph.nodes.values()
    }
    owners: dict[str, StreamNode] = {}
    for node in graph.nodes.values():
        other = owners.setdefault(ids[node.id], node)
        if other is not node:
            raise DuplicateUidError(
                f"Operators {other.name!r} and {node.name!r} have the same id {ids[node.id]}.",
                hint="Change the uid or uid hash of one of them.",
            )
    return ids


def _hashes(graph: StreamGraph) -> dict[int, bytes]:
    """Compute the hashes, breadth first from the sources, each when those of its inputs are there."""
    hashes: dict[int, bytes] = {}
    waiting = deque(node for node in sorted(graph.sources, key=lambda node: node.id))
    queued = {node.id for node in waiting}
    while waiting:
        node = waiting.popleft()
        if node.uid is not None:
            hashes[node.id] = murmur3_128(node.uid.encode())
        elif all(edge.source_id in hashes for edge in node.in_edges):
            hashes[node.id] = _hash_of_place(node, hashes, graph)
        else:
            # Its last input queues it again.
            queued.remove(node.id)
            continue
        for edge in node.out_edges:
            if edge.target_id not in queued:
                queued.add(edge.target_id)
                waiting.append(graph.nodes[edge.target_id])
    return hashes


def _hash_of_place(node: StreamNode, hashes: dict[int, bytes], graph: StreamGraph) -> bytes:
    chained = len(chained_edges(node, graph))
    code = murmur3_128(struct.pack("<i", len(hashes)) * (1 + chained))
    for edge in node.in_edges:
        pairs = zip(code, hashes[edge.source_id], strict=True)
        code = bytes((own * 37 & 0xFF) ^ other for own, other in pairs)
    return code
