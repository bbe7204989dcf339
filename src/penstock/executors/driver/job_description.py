"""What a checkpoint says of the job that wrote it."""

from __future__ import annotations

from penstock.checkpoint.epoch_record import EdgeRecord, JobRecord, OperatorRecord, VertexRecord
from penstock.runtime.program import Program


def describe(program: Program) -> JobRecord:
    """Return what a checkpoint says of the program that wrote it."""
    heads = {vertex.index: vertex.operators[0].operator_id for vertex in program.vertices}
    sources = {
        vertex.source: heads[vertex.index]
        for vertex in program.vertices
        if vertex.source is not None
    }
    return JobRecord(
        program.name,
        program.digest,
        program.state_backend,
        tuple(
            VertexRecord(
                vertex.index,
                tuple(
                    OperatorRecord(
                        spec.operator_id,
                        spec.name,
                        spec.uid,
                        spec.is_stateful,
                        spec.keeps_records,
                        spec.delivers_to,
                        spec.kept_windows,
                    )
                    for spec in vertex.operators
                ),
                vertex.parallelism,
                vertex.max_parallelism,
                vertex.is_shared,
            )
            for vertex in program.vertices
        ),
        tuple(
            EdgeRecord(edge.index, spec.operator_id, heads[edge.target], edge.input)
            for vertex in program.vertices
            for spec in vertex.operators
            for edge in spec.network
        ),
        tuple(sources[number] for number in sorted(sources)),
    )
